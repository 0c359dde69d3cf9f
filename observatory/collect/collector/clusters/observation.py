"""Turns the answers of one cluster's endpoints into records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from observatory.clusters.models import Cluster
from observatory.collect.collector.clusters.series_limit import SeriesLimit
from observatory.collect.collector.load.standstill import Standstill
from observatory.collect.collector.writing.outbox import Outbox
from observatory.collect.collector.writing.slowdown import Period
from observatory.collect.http.exposition import Page, Parser
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.erred_tasks import ErredTaskCount
from observatory.collect.scheduler.identity import Counts, Identity
from observatory.collect.scheduler.prefix_series import PrefixSeries, Sample
from observatory.collect.scheduler.worker_heartbeats import Heartbeats
from observatory.collect.stream.beginning import Beginning
from observatory.collect.stream.stolen_stream import StolenStreamDetector
from observatory.collect.workers.membership import Membership, Record
from observatory.wire.clocks import TOLERANCE, UNCORRECTED_ACTIONS
from observatory.wire.dropped_records import DropReason, dropped_detail
from observatory.wire.event_kinds import METRICS_IGNORED, PREFIXES_SUMMED, RECORDS_DROPPED
from observatory.wire.records import Event, Series, Span, WorkerGone, clean_text, is_time
from observatory.wire.workers.processes import OF_SCHEDULER, process_of_address

MAXIMUM_DESCRIBED = 2_000
"""Most metrics of a cluster whose help text is kept."""
LONGEST_HELP = 500
OF_WORKER = "dask_worker_"
OF_SCHEDULER_ALONE = ("dask_scheduler_", "dask_stealing_", "dask_semaphore_")
"""the prefixes of Dask's own metrics"""
FIRE_AND_FORGET = 1
"""Clients that each scheduler counts as its own, for tasks that nobody waits for."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The scheduler's own metrics that the collector itself needs."""

    compute: dict[str, float]
    """Seconds by prefix."""
    erred: float | None
    """Transitions into the state erred."""
    suspicious: float
    process_start: float | None


class Observation:
    """One cluster while it is observed. Times are on the scheduler's clock unless called monotonic."""

    def __init__(
        self,
        cluster: Cluster,
        outbox: Outbox,
        clock: SchedulerClock,
        limit: SeriesLimit,
        erred: ErredTaskCount,
    ) -> None:
        self.cluster = cluster
        self.outbox = outbox
        self.clock = clock
        self.series_limit = limit
        self.membership = Membership(self._member)
        self.heartbeats = Heartbeats(self.sample, self.membership.process_of, self._record_ignored)
        self.scheduler_process = OF_SCHEDULER
        """The process of the scheduler, as workers that share it name theirs."""
        self.stolen_stream = StolenStreamDetector()
        self.erred = erred
        self.parsers: dict[str, Parser] = {}
        self.suspicious: float | None = None
        self.process_start: float | None = None
        self.prefix_series = PrefixSeries(())
        self.recorded_messages: set[str] = set()
        """Messages of events of which one is enough."""
        self.beginning: Beginning | None = None
        """Of a cluster that was not observed before."""
        self.heard = 0.0
        """When the last poll was sent that the scheduler answered, or its metrics or a message arrived."""
        self.was_unreachable = False
        """Whether the scheduler answered nothing for a while since its last metrics."""
        self.stream_missing_since: float | None = None
        """End of a gap in the observation, until the event stream is received."""
        self.unseen = 0.0
        """Length of the last gap in seconds, until a poll after it was added."""
        self.seen_again = 0.0
        """When it ended (monotonic)."""
        self.metrics_with_help: set[str] = set()
        self.outside: list[float] = []
        """When the disk spans arrived whose times cannot be right, since the last poll."""
        self.new_help: dict[str, str] = {}
        """Help texts by metric that are not stored yet."""

    def event(self, kind: str, time: float, message: str = "", **detail: Any) -> None:
        described = {"message": message, **detail} if message else detail
        self.outbox.add(Event(time, kind, "", described))

    def add_gap(self, first: float, last: float, reason: str = "no collector observed the cluster") -> None:
        """Records that nothing was recorded between the two times."""
        message = f"nothing was recorded for {last - first:.0f} s: {reason}"
        self.event("not-observed", first, message, first=first, last=last, reason=reason)
        self.stream_missing_since = last
        self.unseen, self.seen_again = last - first, time.monotonic()

    def add_standstill(self, standstill: Standstill) -> None:
        """Records that the collector stood still, or that its clock was set. The stream may go on."""
        first, last = sorted((standstill.before, standstill.after))
        offset = self.clock.offset
        self.event(
            "not-observed",
            first + offset,
            f"not recorded in time: {standstill.reason}",
            first=first + offset,
            last=last + offset,
            reason=standstill.reason,
        )
        self.unseen, self.seen_again = last - first, time.monotonic()

    def _sometime(self, message: str) -> str:
        """The message of something that was noticed after a gap in which it may have happened."""
        return f"{message}, some time in the {self.unseen:.0f} s before" if self.unseen else message

    def add_unreachable(self, since: float) -> None:
        """Records that the scheduler doesn't answer any more."""
        self.was_unreachable = True
        message = "the scheduler doesn't answer: what follows is a gap"
        self.event("scheduler-unreachable", since, message)

    def add_slowdown(self, period: Period, reason: DropReason) -> None:
        """Records that metrics were read less often."""
        message = f"metrics were read up to {period.factor:.0f} times less often: {reason.text}"
        bounds = {"first": period.first, "last": period.last}
        self.event("scraping-slowed", period.first, message, **bounds, factor=period.factor, reason=reason)

    def add_missing_metrics(self, worker: str, first: float, last: float) -> None:
        """Records that /metrics was read at the two times and could not be read between them.

        `worker`: its address; "" for the scheduler. It has no such event if it answered nothing at all, which
        `scheduler-unreachable` records.
        """
        if not worker and self.was_unreachable:
            return
        whose = "worker" if worker else "scheduler"
        message = f"the {whose}'s metrics could not be read for {last - first:.0f} s"
        detail = {"message": message, "first": first, "last": last}
        self.outbox.add(Event(first, f"{whose}-metrics-missing", worker, detail))

    def sample(self, series: Series, time: float, value: float) -> None:
        if self.series_limit.admits(series):
            self.outbox.add_sample(series, time, value)
            return
        for message in self.series_limit.messages.values():
            self._record_once("series-refused", time, message)

    def _record_ignored(self, message: str) -> None:
        self.event(METRICS_IGNORED, self.clock.now(), message)

    def _record_once(self, kind: str, time: float, message: str) -> None:
        if message not in self.recorded_messages:
            self.recorded_messages.add(message)
            self.event(kind, time, message)

    def _member(self, record: Record) -> None:
        self.outbox.add(record)
        if isinstance(record, WorkerGone):
            self.forget(record.address)

    def forget(self, address: str) -> None:
        """Forgets a worker that left."""
        self.heartbeats.forget(address)
        self.series_limit.forget(address)
        self.parsers.pop(address, None)

    def add_poll(self, identity: Identity | None, counts: Counts, requested: float, now: float) -> None:
        """Adds the answers to a poll. `requested`: when it was sent (monotonic)."""
        answered = self.clock.now()
        self.heard = min(answered, max(self.heard, answered - (time.monotonic() - requested)))
        if identity is not None:
            self.scheduler_process = process_of_address(identity.address) or OF_SCHEDULER
            self.membership.update(identity, requested, now)
            self.heartbeats.add_identity(identity)
            limit = sum(worker.memory_limit for worker in identity.workers.values())
            self.heartbeats.add_sums(limit, now)
        self.heartbeats.add_counts(counts, now)
        self._report_outside(now)
        self._add_activity(max(0, counts["clients"] - FIRE_AND_FORGET) + counts["tasks"])
        self._count_erred(self.erred.add_count(counts["erred"]), now)
        self.stolen_stream.add_results(counts["memory"], time.monotonic())
        if requested > self.seen_again:
            self.unseen = 0.0

    def _add_activity(self, amount: float) -> None:
        if self.beginning is not None:
            self.beginning.add_activity(amount)
            self.report_beginning()

    def report_beginning(self, ended: float | None = None) -> None:
        """Records that the first tasks may be missing, once. `ended`: when the cluster ended."""
        missing = self.beginning.missing(ended) if self.beginning is not None else None
        if missing is not None:
            first, last = missing
            message = (
                "a client was there before the event stream was received: its first tasks may be missing"
            )
            self.event("stream-lost", first, message)
            self.event("stream-resumed", last, "the event stream is received")

    def _count_erred(self, count: int, now: float) -> None:
        if count:
            message = self._sometime(f"{count} task{'s' if count > 1 else ''} erred")
            self.event("tasks-erred", now, message, count=count)
            self.outbox.add_errors(count)

    def add_streamed(self, record: Span | Event) -> bool:
        """Adds a record of the event stream. True when the list of workers has to be polled again."""
        self.heard = self.clock.now()
        if isinstance(record, Span):
            self.stolen_stream.message_received(time.monotonic())
            if self.beginning is not None:
                self.beginning.work_announced()
                self.report_beginning()
            span = self._on_scheduler_clock(record)
            if span is None:
                return False
            unknown = self.membership.joined(span.worker, span.start)
            self.outbox.add(span)
            return unknown
        if record.kind == "worker-added":
            return bool(record.worker) and self.membership.joined(record.worker, record.time)
        if record.kind == "worker-removed":
            return self.membership.left(record.worker, record.time)
        if self.beginning is not None and record.kind == "client-added":
            self.beginning.client_announced()
        if self.beginning is not None and record.kind == "graph-updated":
            self.beginning.work_announced()
        if record.kind == "restarted":
            self.membership.restarted = time.monotonic()
        if self.unseen:
            detail = {**record.detail, "message": self._sometime(str(record.detail.get("message", "")))}
            record = replace(record, detail=detail)
        self.outbox.add(record)
        return False

    def _on_scheduler_clock(self, span: Span) -> Span | None:
        """The span with times of the scheduler's clock; None, and counted, if they cannot be right."""
        if span.action not in UNCORRECTED_ACTIONS:
            return span
        delay, now = self.heartbeats.clock_delay(span.worker), self.clock.now()
        start, stop = span.start + delay, span.stop + delay
        if start < self.cluster.started.timestamp() - TOLERANCE or stop > now + TOLERANCE:
            self.outside.append(now)
            return None
        return span._replace(start=start, stop=stop) if delay else span

    def _report_outside(self, now: float) -> None:
        if not self.outside:
            return
        outside, self.outside = self.outside, []
        count = len(outside)
        detail = dropped_detail("span", count, DropReason.WRONG_CLOCK, outside[0], outside[-1])
        self.outbox.add(Event(now, RECORDS_DROPPED, "", detail))

    def parser(self, worker: str) -> Parser:
        """The parser of a worker's /metrics, "" for the scheduler. It caches the lines of the last pages."""
        if worker not in self.parsers:
            self.parsers[worker] = Parser(worker=worker)
        return self.parsers[worker]

    def add_scheduler_metrics(self, page: Page, requested: float, now: float) -> None:
        """Adds a scrape of the scheduler. `requested`: when it was sent (monotonic)."""
        self.was_unreachable = False
        self.heard = max(self.heard, now)
        self._add_help(page)
        samples = self.prefix_series.fold(page.samples)
        self.series_limit.keep_prefixes(series for series, _, _ in samples)
        self._samples(samples, now, lambda metric: not metric.startswith(OF_WORKER))
        if message := self.prefix_series.names.message:
            self._record_once(PREFIXES_SUMMED, now, message)
        self.heartbeats.add_scheduler_metrics(_values(page), now)
        totals = totals_of(page)
        self.process_start = totals.process_start or self.process_start
        self._add_activity(sum(totals.compute.values()))
        if totals.compute:
            self.stolen_stream.add_compute_seconds(totals.compute, requested, time.monotonic())
        if totals.erred is not None:
            self._count_erred(self.erred.add_transitions(totals.erred), now)
        if self.suspicious is not None and totals.suspicious > self.suspicious:
            self.membership.suspicious(requested)
        self.suspicious = totals.suspicious

    def add_worker_metrics(self, address: str, page: Page, now: float, is_stored: bool) -> None:
        """Adds a scrape of a worker. `is_stored`: not only what replaces its heartbeats is stored.

        A page has all metrics of its process, which other workers or a scheduler can share. What isn't the
        worker's own is stored once: of the scheduler, or else of the first of the workers.
        """
        if address in self.membership.members:
            has_scheduler = any(series.metric.startswith(OF_SCHEDULER_ALONE) for series, _, _ in page.samples)
            # a task can start a scheduler in its worker, too
            if has_scheduler and totals_of(page).process_start == self.process_start is not None:
                self.membership.shares_process(address, self.scheduler_process, now)
            if is_stored:
                is_unknown = has_scheduler and self.process_start is None
                reports = not is_unknown and self._reports_process(address)
                self._add_help(page)
                self._samples(page.samples, now, lambda metric: _is_of_worker(metric, reports))
            self.heartbeats.add_worker_metrics(address, _values(page), now)

    def process_start_of(self, address: str) -> float | None:
        """When the process of a worker started, if it is the scheduler's."""
        is_shared = self.membership.process_of(address) == self.scheduler_process
        return self.process_start if is_shared else None

    def _reports_process(self, address: str) -> bool:
        """Whether the metrics of a worker's process are stored as the worker's."""
        if self.membership.process_of(address) == self.scheduler_process:
            return False
        return self.membership.is_first_of_process(address)

    def _add_help(self, page: Page) -> None:
        for metric, text in page.helps.items():
            if metric not in self.metrics_with_help and len(self.metrics_with_help) < MAXIMUM_DESCRIBED:
                self.metrics_with_help.add(metric)
                self.new_help[metric] = clean_text(text, LONGEST_HELP)

    def _samples(self, samples: Iterable[Sample], now: float, is_stored: Callable[[str], bool]) -> None:
        """Adds the samples of a page. `is_stored`: whether those of a metric are."""
        for series, value, timestamp in samples:
            if is_stored(series.metric):
                self.sample(series, timestamp if timestamp is not None and is_time(timestamp) else now, value)


def _is_of_worker(metric: str, reports_process: bool) -> bool:
    """Whether a metric of a worker's page is stored as the worker's."""
    if metric.startswith(OF_WORKER):
        return True
    return reports_process and not metric.startswith(OF_SCHEDULER_ALONE)


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
