"""The failed tasks and log lines of a run as log records, the former with the span that failed."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

import psycopg
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from observatory.exchange.receivers.otlp.attributes import (
    SCOPE,
    Resources,
    Value,
    attributes,
    long_text,
    text,
)
from observatory.exchange.receivers.otlp.identity import Identity
from observatory.replay.scope import Scope
from observatory.runs.errors.places import place_of
from observatory.store.archive.scans.conditions import Condition
from observatory.store.queries.named_records import Mark, Row, page, record_kinds
from observatory.store.queries.tasks.errors import ErrorFilter, TaskError, task_errors
from observatory.store.queries.timeline import snapshot
from observatory.store.queries.windows.errors.run_exceptions import RunException
from observatory.store.queries.windows.tasks.sampled_tasks import FailedAttempt
from observatory.store.reading.scanning import parts, scanned
from observatory.store.times import from_microseconds, to_microseconds

RECORDS_AT_ONCE = 500
MOST_ERRORS = 10_000
MOST_LINES = 50_000
CLOCKS = timedelta(milliseconds=50)
"""by which the scheduler's clock may be behind a worker's"""
LINE_COLUMNS = ("role", "worker", "level", "logger", "message", "traceback", "pid")
SEVERITIES = {
    logging.DEBUG: SeverityNumber.SEVERITY_NUMBER_DEBUG,
    logging.INFO: SeverityNumber.SEVERITY_NUMBER_INFO,
    logging.WARNING: SeverityNumber.SEVERITY_NUMBER_WARN,
    logging.ERROR: SeverityNumber.SEVERITY_NUMBER_ERROR,
    logging.CRITICAL: SeverityNumber.SEVERITY_NUMBER_FATAL,
}


class _Attempts:
    """Finds the span of a failed attempt: of those of its task the last that had ended."""

    def __init__(self, identity: Identity, attempts: Sequence[FailedAttempt]) -> None:
        self._identity = identity
        self._of: dict[str, list[FailedAttempt]] = {}
        for attempt in attempts:
            self._of.setdefault(attempt.key, []).append(attempt)

    def of(self, error: TaskError) -> bytes | None:
        known = self._of.get(error.key, [])
        ended = [attempt for attempt in known if attempt.stop <= error.time + CLOCKS] or known[:1]
        if not ended:
            return None
        last = ended[-1]
        return self._identity.span(last.task, last.worker, to_microseconds(last.start), last.action)


@dataclass
class LogsOfRun:
    """Makes requests of log records, RECORDS_AT_ONCE in each."""

    identity: Identity
    resources: Resources
    errors: int = 0
    lines: int = 0

    def of_errors(
        self,
        connection: psycopg.Connection,
        cluster: int,
        filters: ErrorFilter,
        attempts: Sequence[FailedAttempt],
        with_arguments: bool,
    ) -> Generator[ExportLogsServiceRequest]:
        """The newest MOST_ERRORS. `attempts`: those whose spans are sent."""
        spans = _Attempts(self.identity, attempts)
        before: tuple[datetime, UUID] | None = None
        within = Condition((), filters.start, filters.stop)
        with snapshot(connection), scanned(connection, cluster, {"error": within}):
            while self.errors < MOST_ERRORS:
                found = task_errors(
                    connection, cluster, filters, RECORDS_AT_ONCE, before, with_tracebacks=True
                )
                if not found:
                    return
                records = [self._of_error(error, spans, with_arguments) for error in found]
                self.errors += len(records)
                before = found[-1].time, found[-1].id
                yield _request([(self.resources.scheduler, records)])

    def of_lines(self, connection: psycopg.Connection, scope: Scope) -> Generator[ExportLogsServiceRequest]:
        """The first MOST_LINES."""
        with snapshot(connection), closing(_lines(connection, scope)) as found:
            while rows := list(islice(found, min(RECORDS_AT_ONCE, MOST_LINES - self.lines))):
                self.lines += len(rows)
                yield self._of_some_lines(rows)

    def _of_some_lines(self, rows: Sequence[Row]) -> ExportLogsServiceRequest:
        by_worker: dict[str, list[LogRecord]] = {}
        for time, role, address, *line in rows:
            by_worker.setdefault(address, []).append(self._of_line(time, role, *line))
        at = rows[0][0]
        return _request([(self.resources.at(address, at), of) for address, of in by_worker.items()])

    def of_code(self, raised: RunException) -> ExportLogsServiceRequest:
        """Of what ended the run's own code."""
        self.errors += 1
        values: dict[str, Value] = {
            "exception.type": raised.exception_type,
            "exception.message": raised.message,
            "code.function.name": place_of(raised.traceback).function,
        }
        record = self._exception(raised.time, raised.text, values, raised.traceback)
        return _request([(self.resources.scheduler, [record])])

    def _of_error(self, error: TaskError, spans: _Attempts, with_arguments: bool) -> LogRecord:
        values: dict[str, Value] = {
            "exception.type": error.exception_type,
            "exception.message": error.message,
            "code.function.name": error.function,
            "dask.task.key": error.key,
            "dask.task.prefix": error.prefix,
            "dask.outcome": error.outcome,
            "dask.worker.name": error.worker,
            "dask.dependents": error.dependents,
            "dask.retries": error.retries,
        }
        if with_arguments:
            values["dask.arguments"] = error.arguments
        said = f"{error.exception_type or 'Error'}: {error.message}"
        return self._exception(error.time, said, values, error.traceback, spans.of(error))

    def _exception(
        self, time: datetime, said: str, values: dict[str, Value], traceback: str, span: bytes | None = None
    ) -> LogRecord:
        """`span`: that failed; without one, the run's."""
        nanoseconds = to_microseconds(time) * 1000
        return LogRecord(
            time_unix_nano=nanoseconds,
            observed_time_unix_nano=nanoseconds,
            severity_number=SeverityNumber.SEVERITY_NUMBER_ERROR,
            severity_text="ERROR",
            event_name="exception",
            body=text(said),
            attributes=[*attributes(values), *long_text("exception.stacktrace", traceback)],
            trace_id=self.identity.trace,
            span_id=span or self.identity.root,
            flags=1,
        )

    def _of_line(
        self, time: datetime, role: str, level: int, logger: str, message: str, traceback: str, pid: int
    ) -> LogRecord:
        nanoseconds = to_microseconds(time) * 1000
        values: dict[str, Value] = {"dask.role": role, "logger.name": logger, "process.pid": pid}
        return LogRecord(
            time_unix_nano=nanoseconds,
            observed_time_unix_nano=nanoseconds,
            severity_number=severity(level),
            severity_text=logging.getLevelName(level),
            body=text(message),
            attributes=[*attributes(values), *long_text("exception.stacktrace", traceback)],
            trace_id=self.identity.trace,
            span_id=self.identity.root,
            flags=1,
        )


def _lines(connection: psycopg.Connection, scope: Scope) -> Generator[Row]:
    """In the same order each time. Archived ones are read in their files, part after part."""
    cluster, (start, stop) = scope.cluster.pk, map(from_microseconds, scope.window)
    for since, until in parts(connection, cluster, "log", Condition((), start, stop), stop):
        window = to_microseconds(since), to_microseconds(until)
        mark: Mark | None = None
        while True:
            rows, mark = page(
                connection, record_kinds()["log"], cluster, *window, LINE_COLUMNS, RECORDS_AT_ONCE, mark
            )
            yield from rows
            if mark is None:
                break


def severity(level: int) -> SeverityNumber.ValueType:
    """Of a level of Python's logging: that of the next lower one that has a name."""
    known = [value for of, value in SEVERITIES.items() if of <= level]
    return known[-1] if known else SeverityNumber.SEVERITY_NUMBER_TRACE


def _request(found: list[tuple[Resource, list[LogRecord]]]) -> ExportLogsServiceRequest:
    return ExportLogsServiceRequest(
        resource_logs=[
            ResourceLogs(resource=resource, scope_logs=[ScopeLogs(scope=SCOPE, log_records=records)])
            for resource, records in found
        ]
    )
