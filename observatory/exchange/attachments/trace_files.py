"""Reads files in the Trace Event Format, which viztracer, py-spy (chrometrace) and others write.

Calls are events with a duration (X), or begin and end with one each (B, E). They are kept as numbers, some 30
bytes each, as viztracer writes a call after those in it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from observatory.exchange.attachments.json_reader import Event, JsonReader
from observatory.exchange.attachments.recorded_file import (
    LARGEST,
    MOST_THREADS,
    Interval,
    RecordedFile,
    RecordedThread,
)
from observatory.exchange.attachments.stack_tree import (
    DEEPEST,
    ROOT,
    StackTree,
    frame_line,
    line_number,
)
from observatory.exchange.imports.refusal import Refused
from observatory.exchange.imports.unpacking import opened
from observatory.wire.records import is_time

MOST_CALLS = 5_000_000
LATEST = 4e15
"""µs since the epoch: the year 2096"""
METADATA = ("process_name", "thread_name")
ARGUMENTS = ("filename", "line", "name")
Lane = tuple[str, str]
"""ids of process and thread"""


@dataclass(slots=True)
class _Calls:
    """The calls of a thread, in ns on the file's clock: as integers, so that neighbours never overlap."""

    start: array[int] = field(default_factory=lambda: array("q"))
    stop: array[int] = field(default_factory=lambda: array("q"))
    frame: array[int] = field(default_factory=lambda: array("I"))
    order: array[int] = field(default_factory=lambda: array("q"))
    """a call before those in it that began at the same time"""
    open: list[tuple[int, int, int, str]] = field(default_factory=list)
    """(start, frame, order, name) of those that have begun"""
    last: int = 0


@dataclass(slots=True)
class _TraceEvent:
    kind: str = ""
    name: str = ""
    process: str = ""
    thread: str = ""
    at: int = 0
    length: int = 0
    """ns"""
    arguments: dict[str, str] = field(default_factory=dict)
    """ARGUMENTS"""


def read_trace(path: Path) -> RecordedFile:
    """Raises Refused."""
    reading = _Reading(path)
    if not reading.count:
        raise Refused(
            "The trace has no calls on threads: of its events, those of the kinds X, B and E lie on a "
            "timeline."
        )
    lanes = {lane: calls for lane, calls in reading.calls.items() if len(calls.start)}
    start = min(min(calls.start) for calls in lanes.values())
    stop = max(calls.last for calls in lanes.values())
    began = (start + reading.base) / 1e9
    return RecordedFile(
        "trace",
        [reading.thread(lane) for lane in lanes],
        (stop - start) / 1e9,
        began if is_time(began) else None,
        reading.tree,
        _intervals(list(lanes.values()), reading.tree, start),
        list(_remarks(reading)),
    )


def _remarks(reading: _Reading) -> Iterator[str]:
    if reading.others:
        yield f"{reading.others:,} events that are no calls, such as counters, aren't shown."
    if reading.unmatched:
        yield (
            f"{reading.unmatched:,} calls that end never began: py-spy mixes up processes that were forked."
        )


class _Reading:
    def __init__(self, path: Path) -> None:
        self.tree = StackTree()
        self.calls: dict[Lane, _Calls] = {}
        self.names: dict[tuple[str, str, str], str] = {}
        """of processes and threads, by kind and ids"""
        self.base = 0.0
        """ns since the epoch of the clock's zero; 0: it isn't told"""
        self.count = self.others = self.unmatched = 0
        with opened(path, LARGEST) as file:
            reader = JsonReader(file)
            first = reader.take()
            if first[0] == "start_array":
                self._read_events(reader, first)
            else:
                self._read_members(reader, first)
        for calls in self.calls.values():
            while calls.open:
                self._close(calls, calls.last)

    def _read_members(self, reader: JsonReader, event: Event) -> None:
        for name, value in reader.members(event):
            if name == "traceEvents":
                self._read_events(reader, value)
            elif name == "baseTimeNanoseconds":
                self.base = reader.number(value)
            elif name == "viztracer_metadata":
                for part, of in reader.members(value):
                    if part == "baseTimeNanoseconds":
                        self.base = reader.number(of)
                    else:
                        reader.skip(of)
            else:
                reader.skip(value)

    def _read_events(self, reader: JsonReader, event: Event) -> None:
        for each in reader.elements(event):
            self._add(_trace_event(reader, each))

    def _add(self, event: _TraceEvent) -> None:
        if event.kind == "M":
            if event.name in METADATA:
                thread = event.thread if event.name == "thread_name" else ""
                self.names[event.name, event.process, thread] = event.arguments.get("name", "")
            return
        if event.kind not in ("X", "B", "E"):
            self.others += 1
            return
        calls = self._calls_of((event.process, event.thread))
        calls.last = max(calls.last, event.at + event.length)
        if event.kind == "E":
            self._end(calls, event)
            return
        self.count += 1
        if self.count > MOST_CALLS:
            raise Refused(
                f"The trace has more than {MOST_CALLS:,} calls. Record fewer, as with --min_duration."
            )
        frame = self.tree.frame(_frame_line(event))
        if event.kind == "B":
            calls.open.append((event.at, frame, self.count, event.name))
            return
        calls.start.append(event.at)
        calls.stop.append(event.at + event.length)
        calls.frame.append(frame)
        calls.order.append(self.count)

    def _end(self, calls: _Calls, event: _TraceEvent) -> None:
        """Ends the innermost call of this name, and those in it."""
        names = [name for *_, name in calls.open]
        if not names or (event.name and event.name not in names):
            self.unmatched += 1
            return
        while calls.open:
            *_, name = calls.open[-1]
            self._close(calls, event.at)
            if name == event.name or not event.name:
                return

    def _close(self, calls: _Calls, at: int) -> None:
        start, frame, order, _ = calls.open.pop()
        calls.start.append(start)
        calls.stop.append(max(at, start))
        calls.frame.append(frame)
        calls.order.append(order)

    def _calls_of(self, lane: Lane) -> _Calls:
        found = self.calls.get(lane)
        if found is None:
            if len(self.calls) >= MOST_THREADS:
                raise Refused(f"The trace has more than {MOST_THREADS} threads.")
            found = self.calls[lane] = _Calls()
        return found

    def thread(self, lane: Lane) -> RecordedThread:
        process, thread = lane
        named = self.names.get(("process_name", process, ""), "")
        name = self.names.get(("thread_name", process, thread), "") or thread
        pid = int(process) if process.isdecimal() and len(process) < 10 else None
        return RecordedThread(" ".join(filter(None, (named, f"process {process}"))), pid, name)


def _trace_event(reader: JsonReader, event: Event) -> _TraceEvent:
    found = _TraceEvent()
    for name, value in reader.members(event):
        if name == "ph":
            found.kind = reader.text(value)
        elif name == "name":
            found.name = reader.text(value)
        elif name == "pid":
            found.process = reader.text(value)[:50]
        elif name == "tid":
            found.thread = reader.text(value)[:50]
        elif name == "ts":
            found.at = _nanoseconds(reader.number(value))
        elif name == "dur":
            found.length = max(_nanoseconds(reader.number(value)), 0)
        elif name == "args":
            for part, of in reader.members(value):
                if part in ARGUMENTS:
                    found.arguments[part] = reader.text(of)
                else:
                    reader.skip(of)
        else:
            reader.skip(value)
    return found


def _nanoseconds(microseconds: float) -> int:
    if abs(microseconds) > LATEST:
        raise Refused(f"The trace has an event at {microseconds:,.0f} µs, which is no time.")
    return round(microseconds * 1000)


def _frame_line(event: _TraceEvent) -> str:
    """py-spy tells file and line in arguments, viztracer in the name: "inner (/home/work.py:2)"."""
    if file := event.arguments.get("filename", ""):
        return frame_line(event.name, file, line_number(event.arguments.get("line", "")))
    name, bracket, place = event.name.partition(" (")
    file, colon, line = place.removesuffix(")").rpartition(":")
    if bracket and colon and place.endswith(")") and (number := line_number(line)):
        return frame_line(name, file, number)
    return frame_line(event.name)


def _intervals(lanes: list[_Calls], tree: StackTree, start: int) -> Iterator[Interval]:
    for number, calls in enumerate(lanes):
        for begin, end, node in _stacks(calls, tree):
            yield number, (begin - start) / 1e9, (end - start) / 1e9, node


def _stacks(calls: _Calls, tree: StackTree) -> Iterator[tuple[int, int, int]]:
    """(start, stop, node) while a stack is the same, in ns, in order of time."""
    begins, ends = np.array(calls.start), np.array(calls.stop)
    order = np.lexsort((np.array(calls.order), -ends, begins))
    columns = (begins[order], ends[order], np.array(calls.frame)[order])
    open_calls: list[tuple[int, int]] = []
    """(end, node) of the calls that go on, the innermost last"""
    at = int(begins[order[0]])
    for begin, end, frame in zip(*(column.tolist() for column in columns), strict=True):
        while open_calls and open_calls[-1][0] <= begin:
            stop, node = open_calls.pop()
            if stop > at:
                yield at, stop, node
                at = stop
        if open_calls and begin > at:
            yield at, begin, open_calls[-1][1]
        at = max(at, begin)
        if len(open_calls) < DEEPEST:
            # a call that outlasts its caller is cut there
            outer = open_calls[-1] if open_calls else (end, ROOT)
            open_calls.append((min(end, outer[0]), tree.child(outer[1], frame)))
    while open_calls:
        stop, node = open_calls.pop()
        if stop > at:
            yield at, stop, node
            at = stop
