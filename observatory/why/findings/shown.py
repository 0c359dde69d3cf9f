"""What is shown of a window's prefixes, workers, hosts and times: names, or what stands for them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import psycopg

from observatory.replay.scope import Scope, Section
from observatory.store.queries.windows import findings as store
from observatory.store.queries.windows.prefixes import prefix_names
from observatory.store.queries.windows.workers.readiness import ready_times
from observatory.why.findings.finding import Moment
from observatory.why.findings.texts import shown_text


class Shown:
    """The window [start, stop) (microseconds) of a scope. Its texts are as the scope shows them."""

    def __init__(self, connection: psycopg.Connection, scope: Scope, start: int, stop: int) -> None:
        self.connection, self.scope, self.start, self.stop = connection, scope, start, stop
        self._cluster = scope.cluster.pk

    @cached_property
    def ends(self) -> dict[int, store.WorkerEnd]:
        """The workers that lived in the window, by id, each since it took tasks."""
        window = self.start, self.stop
        found = store.worker_ends(self.connection, self._cluster, *window)
        ready = ready_times(self.connection, self._cluster, *window)
        return {one.id: replace(one, started=ready.get(one.id, one.started)) for one in found}

    @cached_property
    def hosts(self) -> dict[int, str]:
        """The host of each worker, as it is stored: not to be shown."""
        return {id: worker.host for id, worker in self.ends.items()}

    def shows(self, section: Section) -> bool:
        return section in self.scope.sections

    def exception(self, failure: store.Failure) -> str:
        """The type of a failure's exception; "" where it is not known or not shared."""
        return self.text(failure.exception_type) if self.shows(Section.TRACEBACKS) else ""

    @cached_property
    def names(self) -> dict[int, str]:
        """Of prefixes, as they are stored: not to be shown."""
        return prefix_names(self.connection, self._cluster)

    def prefix(self, id: int) -> str:
        return self.text(self.names.get(id, "an unknown prefix"))

    def worker(self, id: int | None) -> str:
        """The name of a worker, or its address."""
        known = self.ends.get(id or 0)
        if known is None:
            return "an unknown worker"
        name, pseudonyms = known.name or known.address, self.scope.pseudonyms
        if pseudonyms is not None:
            return pseudonyms.worker(name)
        return name if name == known.address else f"{name} ({known.address})"

    def host(self, name: str) -> str:
        pseudonyms = self.scope.pseudonyms
        return name if pseudonyms is None else pseudonyms.hosts.get(name, "a host")

    def text(self, text: str) -> str:
        return shown_text(self.scope, text)

    def moment(self, label: str, time: float) -> Moment:
        """`time`: seconds."""
        first, last = self.scope.clip_seconds(time, time)
        return Moment(label, float(min(first, last) if time > last else first))
