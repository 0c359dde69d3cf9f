"""Reads the events, errors and log lines of a window, once for all rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import psycopg

from observatory.alerts.evaluation.window.steps import SECOND
from observatory.alerts.rules.conditions import EventCondition
from observatory.alerts.rules.events import ERRORS, LOG, LOGS, RULE_EVENTS
from observatory.store.queries.alerts import events as queries
from observatory.store.queries.alerts.events import Occurrence


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
    """The occurrences of a cluster's events in a window, in microseconds."""

    def __init__(self, connection: psycopg.Connection, cluster: int, start: int, stop: int) -> None:
        self.connection = connection
        self.cluster = cluster
        self.start, self.stop = start, stop
        self._since: dict[str, int] = {}
        """for each source, the time from which on it has been read"""
        self._level = 0
        """the lowest level of log lines that has been read"""
        self._read: dict[str, list[Occurrence]] = {}
        self.present: Collection[str] | None = None
        """The sources of which the cluster has something at all; None: not known."""

    def load(self, conditions: Iterable[EventCondition]) -> None:
        """Reads what `conditions` need and hasn't been read yet."""
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
        self._read_from(wanted)

    def of(self, source: str) -> list[Occurrence]:
        """The loaded occurrences of a source, in order of time."""
        return self._read.get(source, [])

    def may_have(self, *sources: str) -> bool:
        """Whether the cluster may have something of these sources, in the window or before it."""
        return self.present is None or any(source in self.present for source in sources)

    def _read_from(self, wanted: dict[str, int]) -> None:
        kinds = defaultdict(list)
        for source, since in wanted.items():
            if not self.may_have(source):
                self._read[source] = []
            elif source == ERRORS:
                self._read[ERRORS] = queries.errors(self.connection, self.cluster, since, self.stop)
            elif source == LOGS:
                lines = queries.log_lines(self.connection, self.cluster, self._level, since, self.stop)
                self._read[LOGS] = lines
            else:
                self._read[source] = []
                kinds[since].append(source)
        for since, some in kinds.items():
            for occurrence in queries.events(self.connection, self.cluster, some, since, self.stop):
                self._read[occurrence.kind].append(occurrence)
