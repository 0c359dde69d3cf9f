"""Trace Event Format export for Perfetto and chrome://tracing: workers as processes, lanes as threads."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Any

from observatory.exchange.formats.base import Progress
from observatory.exchange.records.exported_records import Reader, Shown, part_of, reader
from observatory.replay.scope import Scope
from observatory.store.queries.named_records import Wanted, record_kinds
from observatory.store.times import from_microseconds, to_microseconds

Event = dict[str, Any]

COUNTERS = {
    "observatory_worker_memory_bytes": ("memory", "bytes"),
    "observatory_cluster_memory_bytes": ("memory", "bytes"),
    "observatory_worker_cpu_percent": ("CPU", "percent"),
    "observatory_cluster_tasks": ("tasks", "tasks"),
}
"""name and unit of each metric's counter"""
SPANS = Shown(
    record_kinds()["span"],
    [
        "worker",
        "worker_name",
        "lane",
        "prefix",
        "key",
        "action",
        "start",
        "stop",
        "status",
        "nbytes",
        "typename",
    ],
)
SAMPLES = Shown(record_kinds()["sample"], ["worker", "worker_name", "metric", "labels", "value"])
EVENTS = Shown(record_kinds()["event"], ["worker", "worker_name", "kind", "message", "detail"])
CLUSTER = 0
"""process id of records without a worker"""
ROWS_OF_A_LANE = 1_000


class Trace:
    name = "trace"
    label = "Trace for Perfetto and chrome://tracing (JSON, gzip)"
    suffix = ".json.gz"
    content_type = "application/gzip"

    def write(self, scope: Scope, title: str, file: IO[bytes], progress: Progress) -> None:
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed, reader(scope) as source:
            start = from_microseconds(source.start)
            head = {
                "displayTimeUnit": "ms",
                "otherData": {"run": title, "cluster": scope.cluster.name, "start": start.isoformat()},
            }
            packed.write(json.dumps(head)[:-1].encode() + b', "traceEvents": [')
            for number, event in enumerate(_events(source, progress)):
                packed.write(b"\n" if number == 0 else b",\n")
                packed.write(json.dumps(event, separators=(",", ":")).encode())
            packed.write(b"\n]}\n")
        progress(1.0)


def _events(source: Reader, progress: Progress) -> Iterator[Event]:
    """In order of time but for their kinds; times are microseconds after the window's start."""
    trace = _Trace(source)
    yield trace.metadata("process_name", CLUSTER, 0, {"name": "cluster"})
    for rows in source.rows(SPANS, part_of(progress, 0, 3)):
        for row in rows:
            yield from trace.span(*row[1:])
    for rows in source.rows(SAMPLES, part_of(progress, 1, 3), Wanted("metric", list(COUNTERS))):
        for row in rows:
            yield from trace.sample(*row)
    for rows in source.rows(EVENTS, part_of(progress, 2, 3)):
        for row in rows:
            yield from trace.event(*row)


class _Trace:
    """Makes events of rows, and names each process and thread before the first of its events."""

    def __init__(self, source: Reader) -> None:
        self.start, self.stop = source.start, source.stop
        self.processes: dict[tuple[str, str], int] = {("", ""): CLUSTER}
        """by address and name of the worker"""
        self.ends: dict[tuple[int, int, bool], list[int]] = {}
        """by process, lane and whether it computes: when the last span of each of its rows ended"""

    def span(
        self,
        address: str,
        name: str,
        lane: int,
        prefix: str,
        key: str,
        action: str,
        start: datetime,
        stop: datetime,
        status: str,
        nbytes: int,
        typename: str,
    ) -> Iterator[Event]:
        process = self.processes.get((address, name))
        if process is None:
            process, named = self._process(address, name)
            yield from named
        begin = max(to_microseconds(start), self.start)
        end = max(min(to_microseconds(stop), self.stop), begin)
        computes = action == "compute"
        if computes:
            # a thread computes one task at a time: what overlaps is the correction of its worker's clock
            begin = max([begin, *self.ends.get((process, lane, computes), [])])
            end = max(begin, end)
        row, is_new = self._row(process, lane, computes, begin, end)
        thread = _thread(lane, computes, row)
        if is_new:
            others = "" if computes else ": transfers, disk, serialization"
            yield self.metadata("thread_name", process, thread, {"name": f"thread {lane}{others}"})
            yield self.metadata("thread_sort_index", process, thread, {"sort_index": thread})
        yield {
            "ph": "X",
            "name": prefix,
            "cat": action,
            "pid": process,
            "tid": thread,
            "ts": begin - self.start,
            "dur": end - begin,
            "args": {"key": key, "nbytes": nbytes, "type": typename, "status": status},
        }

    def sample(
        self, time: datetime, address: str, name: str, metric: str, labels: str, value: float
    ) -> Iterator[Event]:
        process, named = self._process(address, name)
        yield from named
        counter, unit = COUNTERS[metric]
        yield {
            "ph": "C",
            "name": " ".join([counter, *json.loads(labels).values()]),
            "pid": process,
            "tid": 0,
            "ts": to_microseconds(time) - self.start,
            "args": {unit: value},
        }

    def event(
        self, time: datetime, address: str, name: str, kind: str, message: str, detail: str
    ) -> Iterator[Event]:
        process, named = self._process(address, name)
        yield from named
        yield {
            "ph": "i",
            "s": "p" if process != CLUSTER else "g",
            "name": kind,
            "cat": "event",
            "pid": process,
            "tid": 0,
            "ts": to_microseconds(time) - self.start,
            "args": {"message": message, "detail": detail},
        }

    def metadata(self, name: str, process: int, thread: int, arguments: Event) -> Event:
        return {"ph": "M", "name": name, "pid": process, "tid": thread, "ts": 0, "args": arguments}

    def _process(self, address: str, name: str) -> tuple[int, list[Event]]:
        """The process of a worker, and the events that name it if it is new."""
        process = self.processes.get((address, name))
        if process is not None:
            return process, []
        process = self.processes[address, name] = len(self.processes)
        words = f"{name} ({address})" if name and name != address else address
        return process, [
            self.metadata("process_name", process, 0, {"name": words}),
            self.metadata("process_sort_index", process, 0, {"sort_index": process}),
        ]

    def _row(self, process: int, lane: int, computes: bool, start: int, stop: int) -> tuple[int, bool]:
        """A row in which nothing else is then, for on a thread of a trace nothing overlaps; is it new?"""
        ends = self.ends.setdefault((process, lane, computes), [])
        row = next((row for row, end in enumerate(ends) if end <= start), len(ends))
        if row < len(ends):
            ends[row] = stop
            return row, False
        ends.append(stop)
        return row, True


def _thread(lane: int, computes: bool, row: int) -> int:
    """A number a row of a lane: first those in which it computes."""
    return (2 * lane + (0 if computes else 1)) * ROWS_OF_A_LANE + min(row, ROWS_OF_A_LANE - 1) + 1
