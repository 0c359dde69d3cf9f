"""OpenTelemetry: a run is a trace, its errors and log lines are logs, its main metrics are gauges."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from http import HTTPStatus
from urllib.parse import urlsplit

import psycopg
from django.db import transaction
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from observatory.alerts.notifying.addresses import check_http_address
from observatory.alerts.notifying.http_post import RefusedError
from observatory.exchange.receivers.otlp.attributes import SCOPE, Resources, attributes
from observatory.exchange.receivers.otlp.identity import Identity
from observatory.exchange.receivers.otlp.logs import MOST_ERRORS, LogsOfRun
from observatory.exchange.receivers.otlp.metrics import MetricsOfRun
from observatory.exchange.receivers.otlp.posting import Posting, Signal
from observatory.exchange.receivers.otlp.selection import Selection, select
from observatory.exchange.receivers.otlp.traces import TraceOfRun
from observatory.exchange.receivers.progress import Changed, Progress
from observatory.exchange.receivers.receiver_kind import Address, Options, ReceiverKind
from observatory.exchange.records.exported_records import Reader
from observatory.runs.errors.run_exceptions import exception_of
from observatory.runs.models import Run
from observatory.runs.other_work import other_work_in
from observatory.runs.sharing.scopes import scope_of_run
from observatory.store.queries.tasks.errors import ErrorFilter
from observatory.store.queries.timeline import snapshot
from observatory.store.queries.windows.other_work import OtherWork
from observatory.store.queries.windows.tasks.sampled_tasks import (
    failed_attempts,
    messages_of_tasks,
    processes,
    spans_of_tasks,
)
from observatory.store.times import from_microseconds
from observatory.wire.client_code.runs import MOST_TAGS, TRACE

SPANS_OF_TASK = 20
"""on average, that are sent at most"""
PATH = "/v1/traces"
NO_PLACE = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}
"""answers where a receiver doesn't take logs or metrics"""


class Otlp(ReceiverKind):
    examples = "https://collector.example.org:4318"

    def clean_address(self, text: str) -> str:
        check_http_address(text, "https://host:4318", advice="")
        return text.split("#")[0].split("?")[0].rstrip("/").removesuffix(PATH)

    def host_of(self, url: str) -> str | None:
        return urlsplit(url).hostname

    def send(
        self, connection: psycopg.Connection, run: Run, address: Address, options: Options, progress: Progress
    ) -> str:
        try:
            report = _Sending(connection, run, Posting(address, progress), options).send()
            progress.check_end()
            return report
        except Changed:  # by records that came late, or by tags
            progress.forget()
            return _Sending(connection, run, Posting(address, progress), options).send()

    def send_test(self, address: Address) -> None:
        at = time.time_ns()
        span = Span(
            trace_id=at.to_bytes(16, "big"),
            span_id=at.to_bytes(8, "big"),
            name="test of a receiver",
            start_time_unix_nano=at - 1_000_000,
            end_time_unix_nano=at,
        )
        resource = Resource(attributes=attributes({"service.name": "dask-observatory"}))
        scope_spans = [ScopeSpans(scope=SCOPE, spans=[span])]
        spans = ResourceSpans(resource=resource, scope_spans=scope_spans)
        Posting(address, Progress()).post("traces", ExportTraceServiceRequest(resource_spans=[spans]))


RECEIVER = Otlp()


def _note_trace(run: Run, identity: Identity) -> None:
    """Tags a run that was opened in no trace with the one that it has now."""
    with transaction.atomic():
        known = Run.objects.select_for_update().filter(pk=run.pk).first()
        if known is not None and TRACE not in known.tags and len(known.tags) < MOST_TAGS:
            known.tags[TRACE] = identity.trace.hex()
            known.save(update_fields=["tags"])


def _if_taken(signal: Signal, send: Callable[[], str]) -> str:
    """What was sent; or that the receiver has no place for it: Jaeger, Tempo and others take traces only."""
    try:
        return send()
    except RefusedError as error:
        if error.status not in NO_PLACE:
            raise
        return f"It takes no {signal}: it answered {error.status}."


class _Sending:
    """Sends one run."""

    def __init__(self, connection: psycopg.Connection, run: Run, posting: Posting, options: Options) -> None:
        self._connection = connection
        self._run = run
        self._posting = posting
        self._options = options
        self._scope = scope_of_run(run)
        self._window = (connection, run.cluster_id, *self._scope.window)
        self._identity = Identity(run)
        self._resources = Resources(run, processes(connection, run.cluster_id))
        self._raised = exception_of(connection, run)

    def send(self) -> str:
        others = other_work_in(self._connection, self._scope, self._scope.stop)
        selection = select(self._connection, self._run, self._scope, others, self._options.most_tasks)
        sentences = [self._send_trace(selection)]
        if self._options.logs:
            sentences.append(_if_taken("logs", lambda: self._send_logs(selection, others)))
        if self._options.metrics:
            sentences.append(_if_taken("metrics", self._send_metrics))
        _note_trace(self._run, self._identity)
        return " ".join(each for each in (*sentences, self._posting.remark) if each)

    def _send_trace(self, selection: Selection) -> str:
        trace = TraceOfRun(self._run, self._identity, self._resources, selection, self._raised)
        self._posting.post("traces", trace.root())
        with snapshot(self._connection):
            messages = messages_of_tasks(*self._window, selection.tasks, MOST_ERRORS)
            most = SPANS_OF_TASK * len(selection.tasks)
            batches = spans_of_tasks(*self._window, selection.tasks, most)
            for request in trace.requests(batches, messages):
                self._posting.post("traces", request)
        path = "" if selection.has_path else " The critical path isn't known: there are too many tasks."
        count = len(selection.tasks)
        sent = f"{count:,} of {self._run.tasks:,}" if count >= self._options.most_tasks else f"All {count:,}"
        return f"{sent} tasks with {trace.spans:,} spans.{path}"

    def _send_logs(self, selection: Selection, others: OtherWork) -> str:
        logs = LogsOfRun(self._identity, self._resources)
        of_code = [logs.of_code(self._raised)] if self._raised else []
        attempts = failed_attempts(*self._window, selection.tasks, MOST_ERRORS)
        start, stop = map(from_microseconds, self._scope.window)
        filters = ErrorFilter(start=start, stop=stop, others=others)
        errors = logs.of_errors(
            self._connection, self._run.cluster_id, filters, attempts, self._options.arguments
        )
        for request in of_code:
            self._posting.post("logs", request)
        lines = logs.of_lines(self._connection, self._scope)
        for requests in (errors, lines):
            with closing(requests):
                for request in requests:
                    self._posting.post("logs", request)
        return f"{logs.errors:,} errors and {logs.lines:,} log lines."

    def _send_metrics(self) -> str:
        with snapshot(self._connection):
            metrics = MetricsOfRun(Reader(self._connection, self._scope), self._resources)
            for request in metrics.requests():
                self._posting.post("metrics", request)
        return f"{metrics.points:,} points of metrics."
