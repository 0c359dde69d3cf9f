"""A page of Dask's `performance_report`, or of `get_task_stream(plot="save")`, as records.

A page holds the document of Bokeh that it draws. Its task stream has each span with its key, worker and
thread; profiles are sums over the whole report, so that they get the time of its start.
"""

from __future__ import annotations

import html
import json
import logging
import math
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from observatory.exchange.bundles.manifest import ClusterFacts, RunFacts
from observatory.exchange.imports.agent_rows import AgentRows, as_count, as_json, as_number, as_text
from observatory.exchange.imports.allowance import Allowance
from observatory.exchange.imports.bokeh_documents import Document, Model, Table, read_document, table_of
from observatory.exchange.imports.dump_keys import saved_key
from observatory.exchange.imports.refusal import Refused
from observatory.wire.event_kinds import CLUSTER_ENDED
from observatory.wire.kind import MAXIMUM_LONG_LENGTH
from observatory.wire.records import Action, Status, is_time

SPANS = ("start", "duration", "key", "name", "color", "worker", "worker_thread")
"""columns of diagnostics.task_stream.rectangles; `start` is the middle of a span, in milliseconds"""
ERRED = "black"
"""color of a task that erred"""
PREFIXES = {f"{action}-": action for action in ("transfer", "disk-write", "disk-read", "deserialize")}
"""what `name` begins with, unless the span computes"""
FRAMES = ("left", "right", "bottom", "filename", "line_number", "name", "time")
"""columns of distributed.profile.plot_data"""
PROFILES = {
    "Worker Profile (compute)": "task",
    "Scheduler Profile (administrative)": "event-loop",
}
"""source of a profile by the title of its tab; that of all workers' event loops belongs to no worker"""
INTERVAL = 0.01
"""seconds between two samples of a profile, by Dask's default; `time` is their number times this"""
SYSTEM = {"cpu": "observatory_scheduler_cpu_percent", "memory": "observatory_scheduler_memory_bytes"}
FACT = re.compile(r"<li>\s*([\w. ]{1,40}):\s*([^<]{1,200}?)\s*</li>")
LASTED = re.compile(r"<h2>\s*Duration:\s*([^<]{1,40})</h2>")
CODE = re.compile(r"<pre>\n?(.*)</pre>", re.DOTALL)
NO_CODE = "<Code not available>"
LINE = re.compile(r"(\d\d):(\d\d):(\d\d\.\d+) - (\S+) - (\w+) - (.*)", re.DOTALL)
"""a line of the tab of logs, in local time"""
QUARTER, HALF_DAY, DAY = 900, 43_200, 86_400
"""seconds; time zones differ from UTC by multiples of the first"""
DURATION = re.compile(r"([\d.]+)\s*(us|ms|s|hr|m|d)\b")
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "hr": 3600.0, "d": 86_400.0}
GAUGE = 1
UNTOLD = (
    "A performance report doesn't tell which task needs which, what erred tasks raised, and the memory of "
    "workers: these are missing. Its profiles are sums over the report and stand at its start."
)


def records_of(path: Path, allowance: Allowance) -> tuple[AgentRows, RunFacts, ClusterFacts]:
    """The records of the page, its run and cluster. Raises Refused."""
    reader = _Reader(read_document(path), allowance)
    return reader.rows, reader.run(), reader.cluster()


class _Reader:
    def __init__(self, document: Document, allowance: Allowance) -> None:
        self.rows = AgentRows(allowance)
        self.allowance = allowance
        self.tabs = document.tabs()
        self.facts: dict[str, str] = {}
        self.code = ""
        self.seconds = 0.0
        self.threads: dict[str, set[int]] = {}
        self._summary()
        self._spans()
        times = self.rows.times("span")
        if not times:
            raise Refused("The page has no task in its task stream.")
        self.start, self.stop = min(times), max(times) + 1e-3
        self._system()
        self._workers()
        self._profiles()
        self._logs()
        self.rows.remarks.append(UNTOLD)
        idle = as_count(_number(self.facts.get("Workers"))) - len(self.threads)
        if idle > 0:
            self.rows.remarks.append(
                f"Workers that ran no task have no address in the report: {idle:,} of them are missing."
            )

    def run(self) -> RunFacts:
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(self.start))
        what = "Performance report" if self.facts else "Task stream"
        return RunFacts(
            name=f"{what} of {when} UTC",
            start=self.start,
            stop=self.stop,
            outcome="erred" if any(row[-1] == Status.ERROR for row in self.rows.rows["span"]) else "finished",
            code=self.code,
        )

    def cluster(self) -> ClusterFacts:
        address = self.facts.get("Address", "")
        name = (address or "performance report")[:100]
        return ClusterFacts(name=name, scheduler_id="performance-report", address=address, started=self.start)

    def _summary(self) -> None:
        for text in _texts(self.tabs.get("Summary", [])):
            head, _, rest = text.partition("<h2> Calling Code")
            if lasted := LASTED.search(head):
                self.seconds = _seconds(lasted[1])
            self.facts |= {name.strip(): html.unescape(value) for name, value in FACT.findall(head)}
            if found := CODE.search(rest):
                code = found[1].strip("\n").rstrip()
                self.code = "" if code == NO_CODE else code[:MAXIMUM_LONG_LENGTH]

    def _spans(self) -> None:
        table = _table([model for models in self.tabs.values() for model in models], *SPANS)
        if table is None:
            raise Refused(
                "The page has a document of Bokeh, but no task stream of Dask: of pages, those of "
                "performance_report and of get_task_stream(plot='save') can be imported."
            )
        for number, row in enumerate(zip(*(table[name] for name in SPANS), strict=True), 1):
            self._span(number, row)

    def _span(self, number: int, row: tuple[Any, ...]) -> None:
        middle, duration, named, name, color, worker, worker_thread = row
        key, seconds = saved_key(named), as_number(duration) / 1000
        start = as_number(middle) / 1000 - seconds / 2
        address = as_text(worker)
        if key is None or not address or not is_time(start) or seconds < 0:
            raise Refused(f"Entry {number} of the task stream has no key, worker or time of this century.")
        thread = as_text(worker_thread).removeprefix(f"{address}-")
        ident = int(thread) if thread.isdecimal() and len(thread) < 20 else 0
        self.threads.setdefault(address, set()).add(ident)
        begins = next((known for known in PREFIXES if as_text(name).startswith(known)), None)
        # a prefix of the user may begin like that of an action, whose color is another's
        action = Action.of(PREFIXES[begins] if begins and _is_beside(color) else "compute")
        status = Status.ERROR if color == ERRED else Status.OK
        self.rows.add("span", address, ident, key, int(action), start, start + seconds, 0.0, "", int(status))

    def _system(self) -> None:
        """Samples until the report's end: its page was made after it, for as long as that took."""
        table = _table(self.tabs.get("System", []), "time", *SYSTEM)
        rows = [
            (at, values)
            for moment, *values in (zip(*table.values(), strict=True) if table else ())
            if is_time(at := as_number(moment) / 1000)
        ]
        self.start = min([self.start, *(at for at, _ in rows)])
        self.stop = max(self.stop, self.start + self.seconds)
        for at, values in rows:
            if at < self.stop:
                for metric, value in zip(SYSTEM.values(), values, strict=True):
                    self.rows.add("sample", at, as_number(value), json.dumps([metric, {}, "", GAUGE]))

    def _workers(self) -> None:
        count = as_count(_number(self.facts.get("Workers"))) or len(self.threads)
        limit = _bytes(self.facts.get("Memory", "")) / count
        versions = {
            package: self.facts[fact]
            for package, fact in (("dask", "Dask Version"), ("distributed", "Dask.Distributed Version"))
            if fact in self.facts
        }
        detail = as_json({"versions": versions} if versions else {})
        for address, threads in self.threads.items():
            self.rows.add("worker", self.start, address, "", "", len(threads), limit, "running", "{}", detail)
            self.rows.add("gone", self.stop, address, CLUSTER_ENDED)

    def _profiles(self) -> None:
        for title, source in PROFILES.items():
            table = _table(self.tabs.get(title, []), *FRAMES)
            for stack, count in _stacks(table) if table else ():
                self.allowance.take("characters", len(stack))
                self.rows.add("profile", self.start, "", source, "", stack, count)

    def _logs(self) -> None:
        levels = logging.getLevelNamesMapping()
        shown = "\n".join(_texts(self.tabs.get("Scheduler Logs", [])))
        lines = html.unescape(re.sub(r"<[^>]{0,500}>", "\n", shown)).split("\n")
        found = [match for match in map(LINE.fullmatch, map(str.strip, lines)) if match]
        for at, match in zip(self._moments(found), found, strict=True):
            level = levels.get(match[5], 0)
            self.rows.add("log", at, "scheduler", "", level, match[4], match[6], "", 0)

    def _moments(self, lines: list[re.Match[str]]) -> Iterator[float]:
        """The lines' times: the first is in the first quarter of an hour of the report."""
        midnight = self.start - self.start % DAY
        shift, before = None, -math.inf
        for line in lines:
            at = midnight + int(line[1]) * 3600 + int(line[2]) * 60 + float(line[3])
            if shift is None:
                shift = math.ceil((self.start - 1 - at) / QUARTER) * QUARTER
            at += shift
            while at < before - HALF_DAY:
                at += DAY
            before = at
            yield min(max(at, self.start), self.stop - 1e-3)


def _texts(models: list[Model]) -> list[str]:
    return [as_text(model.attributes.get("text")) for model in models if model.name == "Div"]


def _table(models: list[Model], *names: str) -> Table | None:
    return next((table for model in models if (table := table_of(model, *names)) is not None), None)


def _is_beside(color: Any) -> bool:
    """Whether a span has a color of what a thread does beside computing (task_stream.colors)."""
    return color in ("red", "orange", "gray")


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def _bytes(text: str) -> float:
    from dask.utils import parse_bytes  # imports all of Dask

    try:
        return as_number(parse_bytes(text))
    except ValueError:
        return 0.0


@dataclass
class _Frame:
    line: str
    width: float
    inner: float = 0.0


def _stacks(frames: Table) -> Iterator[tuple[str, int]]:
    """(stack, number of samples) of a profile's rows, in which a frame stands before those it called."""
    rows = list(zip(*(frames[name] for name in FRAMES), strict=True))
    if not rows:
        return
    total = _seconds(as_text(rows[0][-1])) / INTERVAL
    open_frames: list[_Frame] = []
    for left, right, bottom, filename, line_number, name, _ in rows:
        level = min(as_count(bottom), len(open_frames))
        yield from _closed(open_frames, level, total)
        width = max(as_number(right) - as_number(left), 0.0)
        if open_frames:
            open_frames[-1].inner += width
        parts = (as_text(name), as_text(filename), str(as_count(line_number)))
        open_frames.append(
            _Frame("\t".join(part.replace("\t", " ").replace("\n", " ") for part in parts), width)
        )
    yield from _closed(open_frames, 0, total)


def _closed(frames: list[_Frame], level: int, total: float) -> Iterator[tuple[str, int]]:
    """Removes the frames from a level on; those with samples of their own are stacks."""
    while len(frames) > level:
        own = round((frames[-1].width - frames[-1].inner) * total)
        if own > 0 and len(frames) > 1:  # the first one is the root, which is no frame
            yield "\n".join(frame.line for frame in frames[1:]), own
        frames.pop()


def _seconds(text: str) -> float:
    """Of "20m 34s" 1,234.0."""
    return sum(_number(amount) * SECONDS[unit] for amount, unit in DURATION.findall(text))
