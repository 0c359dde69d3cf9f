"""One cluster while it is observed: what its endpoints tell becomes records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from observatory.clusters.models import Cluster
from observatory.collect.collector.outbox import Outbox
from observatory.collect.collector.series_limit import SeriesLimit
from observatory.collect.http.exposition import Page, Parser
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.erred_tasks import ErredTaskCount
from observatory.collect.scheduler.heartbeats import Heartbeats
from observatory.collect.scheduler.identity import Counts, Identity
from observatory.collect.stream.stolen_stream import StolenStreamDetector
from observatory.collect.workers.membership import Membership, Record
from observatory.wire.records import Event, Sample, Series, Span, WorkerGone, clean_text, is_time

MAXIMUM_DESCRIBED = 2_000
"""metrics of a cluster whose meaning is kept"""
LONGEST_HELP = 500


@dataclass(frozen=True, slots=True)
class Totals:
    """What the scheduler's own metrics count, as far as it decides something here."""

    compute: dict[str, float]
    """seconds by prefix"""
    erred: float | None
    """transitions into erred"""
    suspicious: float
    process_start: float | None


class Observation:
    """Turns answers into records of one cluster. Moments are on the scheduler's clock."""

    def __init__(
        self, cluster: Cluster, fresh: bool, outbox: Outbox, clock: SchedulerClock, limit: SeriesLimit
    ) -> None:
        self.cluster = cluster
        self.outbox = outbox
        self.clock = clock
        self.series_limit = limit
        self.membership = Membership(self._member)
        self.heartbeats = Heartbeats(self.sample)
        self.stolen_stream = StolenStreamDetector()
        self.erred = ErredTaskCount(fresh)
        self.parsers: dict[str, Parser] = {}
        self.suspicious: float | None = None
        self.process_start: float | None = None
        self.has_refused = False
        self.stream_missing_since: float | None = None
        """the end of a time that nobody observed, until the event stream is received"""
        self.described: set[str] = set()
        """metrics whose pages said what they mean"""
        self.helps: dict[str, str] = {}
        """what they said, until it is stored"""

    def event(self, kind: str, moment: float, message: str = "", **detail: Any) -> None:
        said = {"message": message} if message else {}
        self.outbox.add(Event(moment, kind, "", {**said, **detail}))

    def not_observed(self, first: float, last: float) -> None:
        """Nothing between the two times was recorded."""
        message = f"nothing was recorded for {last - first:.0f} s: no collector observed the cluster"
        self.event("not-observed", first, message, first=first, last=last)
        self.stream_missing_since = last

    def sample(self, series: Series, moment: float, value: float) -> None:
        if self.series_limit.admits(series):
            self.outbox.add(Sample(series, moment, value))
        elif not self.has_refused:
            self.has_refused = True
            message = f"the limit of {self.series_limit.limit} series is reached: new ones are refused"
            self.event("series-refused", moment, message, limit=self.series_limit.limit)

    def _member(self, record: Record) -> None:
        self.outbox.add(record)
        if isinstance(record, WorkerGone):
            self.forget(record.address)

    def forget(self, address: str) -> None:
        self.heartbeats.forget(address)
        self.series_limit.forget(address)
        self.parsers.pop(address, None)

    def polled(self, identity: Identity | None, counts: Counts, asked: float, moment: float) -> None:
        """Takes in the answers to a poll that was `asked` (monotonic)."""
        if identity is not None:
            self.membership.listed(identity, asked, moment)
            self.heartbeats.listed(identity)
            self.heartbeats.summed(sum(worker.memory_limit for worker in identity.workers.values()), moment)
        self.heartbeats.counted(counts, moment)
        self._erred(self.erred.counted(counts["erred"]), moment)
        self.stolen_stream.counted_results(counts["memory"], time.monotonic())

    def _erred(self, count: int, moment: float) -> None:
        if count:
            message = f"{count} task{'s' if count > 1 else ''} erred"
            self.event("tasks-erred", moment, message, count=count)
            self.outbox.erred(count)

    def streamed(self, record: Span | Event) -> bool:
        """Takes in a record of the event stream. True when the list of workers has to be read again."""
        if isinstance(record, Span):
            self.stolen_stream.heard(time.monotonic())
            unknown = self.membership.joined(record.worker, record.start)
            self.outbox.add(record)
            return unknown
        if record.kind == "worker-added":
            return bool(record.worker) and self.membership.joined(record.worker, record.time)
        if record.kind == "worker-removed":
            return self.membership.left(record.worker, record.time)
        if record.kind == "restarted":
            self.membership.restarted = time.monotonic()
        self.outbox.add(record)
        return False

    def parser(self, worker: str) -> Parser:
        """The parser of a worker's page, or ("") of the scheduler's: it remembers the lines that it met."""
        if worker not in self.parsers:
            self.parsers[worker] = Parser(worker=worker)
        return self.parsers[worker]

    def scheduler_scraped(self, page: Page, asked: float, moment: float) -> None:
        """Takes in the scheduler's metrics of a scrape that was `asked` for (monotonic)."""
        self._samples(page, moment)
        self.heartbeats.scheduler_scraped(_values(page), moment)
        totals = totals_of(page)
        self.process_start = totals.process_start or self.process_start
        if totals.compute:
            self.stolen_stream.counted_seconds(totals.compute, asked, time.monotonic())
        if totals.erred is not None:
            self._erred(self.erred.scraped(totals.erred), moment)
        if self.suspicious is not None and totals.suspicious > self.suspicious:
            self.membership.suspicious(asked)
        self.suspicious = totals.suspicious

    def worker_scraped(self, address: str, page: Page, moment: float) -> None:
        if address in self.membership.members:
            self._samples(page, moment)
            self.heartbeats.scraped(address, _values(page), moment)

    def _samples(self, page: Page, moment: float) -> None:
        for metric, text in page.helps.items():
            if metric not in self.described and len(self.described) < MAXIMUM_DESCRIBED:
                self.described.add(metric)
                self.helps[metric] = clean_text(text, LONGEST_HELP)
        for series, value, timestamp in page.samples:
            self.sample(series, timestamp if timestamp is not None and is_time(timestamp) else moment, value)


def _values(page: Page) -> Iterator[tuple[Series, float]]:
    return ((series, value) for series, value, _ in page.samples)


def totals_of(page: Page) -> Totals:
    compute: dict[str, float] = {}
    erred: float | None = None
    suspicious = 0.0
    process_start = None
    for series, value, _ in page.samples:
        if series.metric == "dask_scheduler_tasks_compute_seconds_total":
            compute[dict(series.labels).get("task_prefix_name", "")] = value
        elif series.metric == "dask_scheduler_prefix_state_totals_total":
            erred = (erred or 0.0) + (value if ("state", "erred") in series.labels else 0.0)
        elif series.metric == "dask_scheduler_tasks_suspicious_total":
            suspicious += value
        elif series.metric == "process_start_time_seconds" and is_time(value):
            process_start = value
    return Totals(compute, erred, suspicious, process_start)
