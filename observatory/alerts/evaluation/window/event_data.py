"""Reads the events, errors and log lines of windows, once for all rules and clusters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

import psycopg

from observatory.alerts.evaluation.window.steps import SECOND
from observatory.alerts.rules.conditions import EventCondition
from observatory.alerts.rules.events import ERRORS, LOG, LOGS, RULE_EVENTS
from observatory.store.queries.alerts import events as queries
from observatory.store.queries.alerts.events import Asked, Occurrence

STATUSES = "worker-status"
"""the source of a state that each worker has"""


def present_sources(
    connection: psycopg.Connection, conditions: Iterable[EventCondition], since: Mapping[int, int]
) -> dict[int, set[str]]:
    """The sources that the conditions read, and of which clusters have something, for many clusters at once.

    `since`: for each cluster the time (microseconds) from which on. Log lines count as something that each
    cluster has.
    """
    wanted = {source for condition in conditions for source in RULE_EVENTS[condition.event].sources}
    kinds = sorted(wanted - {ERRORS, LOGS})
    found = {cluster: wanted & {LOGS} for cluster in since}
    if since and kinds:
        for cluster, present in queries.present_kinds(connection, since, kinds).items():
            found[cluster] |= present
    if since and ERRORS in wanted:
        for cluster in queries.with_errors(connection, since):
            found[cluster].add(ERRORS)
    return found


class EventData:
    """The occurrences of a cluster's events in a window, in microseconds; `load_events` reads them."""

    def __init__(self, cluster: int, start: int, stop: int) -> None:
        self.cluster = cluster
        self.start, self.stop = start, stop
        self._since: dict[str, int] = {}
        """for each source, the time from which on it has been read"""
        self._level = 0
        """the lowest level of log lines that has been read"""
        self._read: dict[str, Sequence[Occurrence]] = {}
        self._before: dict[str, Sequence[Occurrence]] = {}
        """for each source of a lasting event, the last before the window"""
        self.present: Collection[str] | None = None
        """The sources of which the cluster has something at all; None: not known."""

    def of(self, source: str) -> Sequence[Occurrence]:
        """The loaded occurrences of a source, in order of time."""
        return self._read.get(source, ())

    def last_before(self, *sources: str) -> list[Occurrence]:
        """The last of each source before the window, of each worker for STATUSES; in order of time."""
        found = (each for source in sources for each in self._before.get(source, ()))
        return sorted(found, key=attrgetter("time"))

    def may_have(self, *sources: str) -> bool:
        """Whether the cluster may have something of these sources, in the window or before it."""
        return self.present is None or any(source in self.present for source in sources)

    def wanted(self, conditions: Sequence[EventCondition]) -> Iterator[Asked]:
        """What `conditions` need and hasn't been read yet, by source; it counts as read then."""
        wanted: dict[str, int] = {}
        for condition in conditions:
            since = self.start - round(condition.window * SECOND)
            for source in RULE_EVENTS[condition.event].sources:
                is_read = source in self._since and since >= self._since[source]
                if source == LOGS and is_read:
                    is_read = condition.level >= self._level
                if not is_read:
                    wanted[source] = min(since, wanted.get(source, since), self._since.get(source, since))
        levels = [condition.level for condition in conditions if condition.event == LOG.name]
        if LOGS in wanted:
            self._level = min([*levels, *([self._level] if LOGS in self._since else [])])
        self._since |= wanted
        for source, since in wanted.items():
            self._read[source] = ()
            if self.may_have(source):
                yield Asked(self.cluster, source, since, self.stop)

    def wanted_before(self, conditions: Sequence[EventCondition], began: int) -> Iterator[Asked]:
        """The states that last into the window, as of `wanted`; none is from before `began`."""
        for condition in conditions:
            event = RULE_EVENTS[condition.event]
            # the first source begins the state
            if not event.is_lasting or not self.may_have(event.sources[0]):
                continue
            for source in event.sources:
                if source not in self._before:
                    self._before[source] = ()
                    yield Asked(self.cluster, source, began, self.start)

    def needs_workers(self, conditions: Iterable[EventCondition]) -> bool:
        """Whether lifetimes of workers limit what lasts."""
        sources = {RULE_EVENTS[condition.event].sources for condition in conditions}
        return (STATUSES,) in sources and self.may_have(STATUSES)

    def keep(self, source: str, found: Sequence[Occurrence]) -> None:
        self._read[source] = found

    def keep_before(self, source: str, found: Sequence[Occurrence]) -> None:
        self._before[source] = found


Wanted = Sequence[tuple[EventData, Sequence[EventCondition], int]]
"""the data of each cluster, what it is read for, and the time before which nothing matters any more"""


def load_events(connection: psycopg.Connection, windows: Wanted) -> None:
    """Reads what the conditions need and hasn't been read yet: with one query a table for all clusters.

    States that last into the windows are two more.
    """
    of = {data.cluster: data for data, *_ in windows}
    asked = [each for data, conditions, _ in windows for each in data.wanted(conditions)]
    before = [each for data, conditions, began in windows for each in data.wanted_before(conditions, began)]
    lines = [each._replace(what=str(of[each.cluster]._level)) for each in asked if each.what == LOGS]
    failures = [each for each in asked if each.what == ERRORS]
    for source, found in (
        (LOGS, queries.log_lines(connection, lines)),
        (ERRORS, queries.errors(connection, failures)),
    ):
        for cluster, occurrences in found.items():
            of[cluster].keep(source, occurrences)
    recorded = [each for each in asked if each.what not in (ERRORS, LOGS)]
    for cluster, occurrences in queries.events(connection, recorded).items():
        for kind, some in _by_kind(occurrences).items():
            of[cluster].keep(kind, some)
    for query, some_asked in (
        (queries.last_statuses, [each for each in before if each.what == STATUSES]),
        (queries.last_events, [each for each in before if each.what != STATUSES]),
    ):
        for cluster, occurrences in query(connection, some_asked).items():
            for kind, some in _by_kind(occurrences).items():
                of[cluster].keep_before(kind, some)


def _by_kind(occurrences: Iterable[Occurrence]) -> dict[str, list[Occurrence]]:
    found: defaultdict[str, list[Occurrence]] = defaultdict(list)
    for each in occurrences:
        found[each.kind].append(each)
    return found
