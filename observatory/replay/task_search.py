"""Finds the tasks of a cluster whose key contains a text: the newest first, a part of the time at once."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

import psycopg

from observatory.store.archive.scans.conditions import Condition, Contains, OneOf, with_key
from observatory.store.queries.extents import Extent, read_extent
from observatory.store.queries.tasks import search as store
from observatory.store.queries.tasks.search import LastError, MatchedTask, Stretch, Where
from observatory.store.reading.scanning import Cover, scan, scanned
from observatory.store.times import MAXIMUM_TIME, from_microseconds, to_microseconds
from observatory.wire.records import Action

BUDGET = 1.5
"""seconds after which a search stops; it is continued from there"""
FIRST_ROWS = 50_000
"""estimated rows of the first stretch; the next are as long as their predecessors say"""
QUICK, SLOW = 0.1, 0.4
"""seconds of a stretch's query, below which the next is longer, and above which it is shorter"""
SHORTEST = 1_000_000
"""microseconds"""
BATCH = 2_000
"""submissions whose computations are looked up at once"""
BEFORE_ALL = -(2**63)
"""the number of a place before all tasks of its time"""
POSITION = re.compile(r"([gku])(\d{1,16})_(-?\d{1,19})")


class Part(Enum):
    """Parts of a search, in their order."""

    GROUPS = "g"
    """computed tasks of groups whose name contains the text: found quickly in any number of tasks"""
    KEYS = "k"
    """computed tasks that contain it elsewhere in their key: their keys are read"""
    NOT_COMPUTED = "u"
    """submitted tasks that did not compute"""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a search goes on: after the task with this number at this time (microseconds)."""

    part: Part
    time: int
    number: int

    @classmethod
    def parse(cls, text: str) -> Position | None:
        """Return None for other texts than `str` gives."""
        match = POSITION.fullmatch(text)
        if match is None:
            return None
        number = min(max(int(match[3]), BEFORE_ALL), 2**63 - 1)
        return cls(Part(match[1]), min(int(match[2]), MAXIMUM_TIME), number)

    def __str__(self) -> str:
        return f"{self.part.value}{self.time}_{self.number}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for, in [start, stop) (microseconds)."""

    text: str
    start: int = 0
    stop: int = MAXIMUM_TIME
    only_not_computed: bool = False


@dataclass(frozen=True, slots=True)
class FoundTask:
    task: MatchedTask
    state: str
    """the last recorded one; without transitions "computed" or "erred"; empty: unknown"""
    error: LastError | None


@dataclass(frozen=True, slots=True)
class Found:
    """A page of found tasks."""

    tasks: list[FoundTask]
    older: Position | None = None
    """where the next page begins; None: this is the last"""
    searched_to: datetime | None = None
    """the time at which the search stopped before the page was full"""


@dataclass(slots=True)
class _Search:
    connection: psycopg.Connection
    cluster: int
    wanted: Wanted
    most: int
    """tasks; the search ends with one more"""
    deadline: float
    extent: Extent | None
    groups: Sequence[int]
    matched: dict[store.TaskId, tuple[MatchedTask, Position]] = field(default_factory=dict)
    """the newest of each key, and where a search that follows it begins"""

    @property
    def is_full(self) -> bool:
        return len(self.matched) > self.most

    def run(self, position: Position | None) -> Position | None:
        """Collect tasks from the position on; return where the search stopped for lack of time."""
        for part in self._parts(position):
            place = Stretch(self.wanted.start, self.wanted.stop, BEFORE_ALL)
            if position is not None and position.part is part:
                place = replace(place, stop=min(position.time, place.stop), number=position.number)
            with self._scan(part) as cover:
                for stretch in self._stretches(place):
                    for covered in _covered(cover, stretch):
                        self._collect(part, covered)
                        if self.is_full:
                            return None
                        if covered.start > self.wanted.start and time.monotonic() > self.deadline:
                            return Position(part, covered.start, BEFORE_ALL)
        return None

    def add(self, part: Part, rows: Iterable[MatchedTask]) -> None:
        for row in rows:
            if not self.is_full:
                self.matched.setdefault(row.id, (row, Position(part, to_microseconds(row.time), row.number)))

    def add_exact(self) -> None:
        """Add the tasks whose key is the text: one, unless keys of different types are written like this."""
        found: dict[store.TaskId, list[MatchedTask]] = {}
        text = self.wanted.text
        exact = with_key([text])
        with scanned(self.connection, self.cluster, {"span": exact, "task": exact}):
            tasks = store.tasks_with_key(self.connection, self.cluster, text)
        for task in tasks:
            if self.wanted.start <= to_microseconds(task.time) < self.wanted.stop:
                found.setdefault(task.id, []).append(task)
        beginning = Position(self._parts(None)[0], self.wanted.stop, BEFORE_ALL)
        for id, tasks in found.items():
            if not (self.wanted.only_not_computed and any(task.stop for task in tasks)):
                self.matched[id] = tasks[0], beginning

    def _parts(self, position: Position | None) -> list[Part]:
        parts = [Part.NOT_COMPUTED] if self.wanted.only_not_computed else list(Part)
        if not self.groups:
            parts = [part for part in parts if part is not Part.GROUPS]
        if position is not None:
            order = list(Part)
            parts = [part for part in parts if order.index(part) >= order.index(position.part)]
        return parts

    def _stretches(self, whole: Stretch) -> Iterator[Stretch]:
        """Divide the whole into stretches, the newest first; the caller uses each before the next."""
        if self.extent is None:
            yield whole
            return
        first, last = round(self.extent.first * 1e6), round(self.extent.last * 1e6)
        width = max(SHORTEST, (last - first) * FIRST_ROWS // max(self.extent.spans, 1))
        place = whole
        while True:
            start = min(place.stop, last) - width
            # what is stored was counted in the extent, but submissions can be older
            is_last = start <= max(whole.start, first)
            began = time.monotonic()
            yield replace(place, start=whole.start if is_last else start)
            if is_last:
                return
            took = time.monotonic() - began
            width = width * 4 if took < QUICK else width if took < SLOW else max(SHORTEST, width // 2)
            place = Stretch(whole.start, start, BEFORE_ALL)

    def _scan(self, part: Part) -> AbstractContextManager[Cover]:
        """A scan for the tasks of a part, where they are archived."""
        start, stop = from_microseconds(self.wanted.start), from_microseconds(self.wanted.stop)
        columns = {Part.GROUPS: ("group",), Part.KEYS: ("key",)}.get(part, ("group", "key"))
        test = Contains(columns, self.wanted.text)
        if part is Part.NOT_COMPUTED:
            condition, kind = Condition((test,), start, stop), "task"
        else:
            compute = OneOf(("action",), frozenset({Action.COMPUTE.label}))
            condition, kind = Condition((compute, test), start, stop), "span"
        return scan(self.connection, self.cluster, kind, condition, goes_back=True)

    def _collect(self, part: Part, stretch: Stretch) -> None:
        """Add the tasks of a stretch until the page is full."""
        while not self.is_full:
            limit = BATCH if part is Part.NOT_COMPUTED else self.most + 1
            rows = self._rows(part, stretch, limit)
            if part is Part.NOT_COMPUTED:
                with scanned(self.connection, self.cluster, {"span": _of_tasks(rows)}):
                    computed = store.computed_tasks(self.connection, self.cluster, rows)
                self.add(part, (row for row in rows if row.id not in computed))
            else:
                self.add(part, rows)
            if len(rows) < limit:
                return
            stretch = replace(stretch, stop=to_microseconds(rows[-1].time), number=rows[-1].number)

    def _rows(self, part: Part, stretch: Stretch, limit: int) -> list[MatchedTask]:
        text, groups = self.wanted.text, self.groups
        if part is Part.NOT_COMPUTED:
            return store.submitted_in(self.connection, self.cluster, text, groups, stretch, limit)
        where = Where.GROUP if part is Part.GROUPS else Where.KEY
        return store.computed_in(self.connection, self.cluster, text, groups, where, stretch, limit)


def search_tasks(
    connection: psycopg.Connection,
    cluster: int,
    wanted: Wanted,
    limit: int,
    position: Position | None = None,
    deadline: float | None = None,
) -> Found:
    """Return at most `limit` tasks from the position on. `deadline` is one of time.monotonic()."""
    groups = store.groups_with(connection, cluster, wanted.text)
    until = time.monotonic() + BUDGET if deadline is None else deadline
    search = _Search(connection, cluster, wanted, limit, until, read_extent(connection, cluster), groups)
    if position is None:
        search.add_exact()
    stopped = search.run(position)
    matched = list(search.matched.values())[:limit]
    tasks = _described(connection, cluster, [task for task, _ in matched])
    if search.is_full:
        return Found(tasks, older=matched[-1][1])
    return Found(tasks, stopped, None if stopped is None else from_microseconds(stopped.time))


def _described(connection: psycopg.Connection, cluster: int, tasks: list[MatchedTask]) -> list[FoundTask]:
    of_tasks = _of_tasks(tasks)
    with scanned(connection, cluster, {"transition": of_tasks, "error": of_tasks}):
        states = store.last_states(connection, cluster, tasks)
        errors = store.last_errors(connection, cluster, tasks)
    return [FoundTask(task, states.get(task.id, _state(task)), errors.get(task.id)) for task in tasks]


def _of_tasks(tasks: Sequence[MatchedTask]) -> Condition:
    """Of records of these tasks since the first was found."""
    return with_key((task.key for task in tasks), since=min((task.time for task in tasks), default=None))


def _covered(cover: Cover, stretch: Stretch) -> Iterator[Stretch]:
    """The parts of a stretch that a scan has ready, one after the other."""
    while True:
        # a place with a number is among others of its time
        stop = from_microseconds(stretch.stop + (stretch.number != BEFORE_ALL))
        start = to_microseconds(cover(from_microseconds(stretch.start), stop))
        yield replace(stretch, start=start)
        if start <= stretch.start:
            return
        stretch = Stretch(stretch.start, start, BEFORE_ALL)


def _state(task: MatchedTask) -> str:
    if task.stop is None:
        return ""
    return "erred" if task.erred else "computed"
