"""What is known of a window: read once, when a finding first needs it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.windows.sums import recorded_part
from observatory.runs.models import Run
from observatory.runs.other_work import other_work_in
from observatory.runs.stops import Stop, stop_of_cluster, stop_of_run
from observatory.store.queries.windows import findings as store
from observatory.store.queries.windows.other_work import OtherWork
from observatory.store.times import MAXIMUM_TIME
from observatory.why.clients import Clients
from observatory.why.critical_path.predecessors import Predecessors, needed_computations
from observatory.why.findings.finding import Cost, FoundTask
from observatory.why.findings.observed.code import SeenCode
from observatory.why.findings.observed.samples import LabelledSamples, Samples, read_labelled, read_samples
from observatory.why.findings.observed.tasks.computations import Computations
from observatory.why.findings.observed.tasks.first_uses import FirstUse, first_uses, is_same_work
from observatory.why.findings.observed.tasks.found_tasks import computed_tasks, unfinished_tasks
from observatory.why.findings.observed.tasks.nested_tasks import nested_waits
from observatory.why.findings.observed.tasks.stragglers import (
    are_last_steps,
    are_stragglers,
    with_most_of_prefix,
)
from observatory.why.findings.observed.tasks.waiting_tasks import WaitingTasks
from observatory.why.findings.observed.waits import Waits
from observatory.why.findings.observed.workers.growths import Growth, growths
from observatory.why.findings.observed.workers.idle_gpus import IdleGpu, read_idle_gpus
from observatory.why.findings.observed.workers.restarts import restarts
from observatory.why.findings.observed.workers.silences import Silence, silences, standing_still
from observatory.why.findings.observed.workers.slow_workers import SlowWorker, slow_workers
from observatory.why.findings.shown import Shown
from observatory.why.findings.texts import shown_text
from observatory.why.intervals import Flags, Integers, Intervals, joined
from observatory.why.piles import Piles, piles
from observatory.why.reading import read_clients, read_graph, read_records
from observatory.why.records import Records, Spans
from observatory.why.thread_times.assignments import NO_WORKER, QUEUED, Assignments, Stays
from observatory.why.thread_times.cores import WithoutCore, without_core
from observatory.why.thread_times.gil import CONTENTION
from observatory.why.thread_times.kinds import OWN, ThreadKind
from observatory.why.thread_times.thread_time import Accountant, ThreadTime
from observatory.why.what_if.change import Predictor
from observatory.why.what_if.recorded.reading import trusted_predictor, window_of
from observatory.wire.tasks.waits import TASK_WAITS
from observatory.wire.workers.departures import DISAPPEARED, LOST

LEAST_SHARE = 0.03
"""of the time of threads in which there was something to do, that a finding costs"""
LEAST_SECONDS = 1.0
"""of threads"""
LEAST_OF_OVERHEAD = 0.1
"""of the same time, that waiting for the scheduler or event loops takes where it is a cause.

On a machine with too few cores all work waits a little for them.
"""
MOST_EVENTS, MOST_FAILURES = 10_000, 200
PROFILE_SECOND = 1_000_000
"""microseconds that an entry of a profile is of, up to its time"""
SOON = 5_000_000
"""microseconds after the end of a window, in which its cluster ends"""
TASK_CPU, TASK_WAITING = "observatory_worker_task_cpu_percent", "observatory_worker_task_waits"
CONSTRAINED = ("observatory_worker_tasks", "constrained", "max", "state")
DIED = (LOST, DISAPPEARED)
"""end_reason of workers that died, or may have: what they computed is lost in any case"""


class Evidence(Shown):
    """The window [start, stop) (microseconds) of a scope."""

    def __init__(self, connection: psycopg.Connection, scope: Scope, start: int, stop: int) -> None:
        super().__init__(connection, scope, start, stop)
        self._samples: dict[tuple[str, str, str, str], Samples] = {}
        self._events: dict[tuple[str, ...], list[store.Happening]] = {}

    @cached_property
    def records(self) -> Records:
        return read_records(self.connection, self._cluster, self.start, self.stop, self.others)

    @cached_property
    def others(self) -> OtherWork:
        return other_work_in(self.connection, self.scope, self.stop)

    @property
    def has_agent(self) -> bool:
        return self.records.has_agent

    @cached_property
    def _accountant(self) -> Accountant:
        return Accountant(self.records)

    @property
    def stays(self) -> Stays:
        """Times that tasks spent in a state."""
        return self._accountant.stays

    @property
    def sent(self) -> Assignments:
        """Tasks that waited on the worker that they had been sent to."""
        return self._accountant.sent

    @cached_property
    def time(self) -> ThreadTime:
        return self._accountant.account()

    @cached_property
    def waits(self) -> Waits:
        return Waits(self.time, self.unfinished)

    @property
    def unfinished(self) -> Intervals:
        """When the cluster had tasks."""
        return self._accountant.unfinished

    @cached_property
    def computations(self) -> Computations:
        """As long as they took a thread: without the time after they seceded."""
        computing = self._accountant.computing
        return Computations(replace(computing, times=computing.in_pool))

    @property
    def whole_times(self) -> Intervals:
        """Of the computations, with the time after they seceded."""
        return self._accountant.computing.times

    @cached_property
    def first_uses(self) -> list[FirstUse]:
        return [one for one in first_uses(self.computations) if not self._do_as_later_ones(one)]

    def _do_as_later_ones(self, use: FirstUse) -> bool:
        """Whether samples saw the first tasks where they saw later ones."""
        ends = self.computations.spans.times.stop[use.rows]
        first = self.code.task_stacks([use.prefix], until=int(ends.min()))
        later = self.code.task_stacks([use.prefix], since=int(np.median(ends)) + PROFILE_SECOND)
        return is_same_work(dict(first), dict(later))

    @cached_property
    def slow_workers(self) -> list[SlowWorker]:
        return slow_workers(self.computations, self.hosts)

    @cached_property
    def stragglers(self) -> Flags:
        """Whether each computation is one."""
        slow = [id for one in self.slow_workers for id in one.workers]
        found = are_stragglers(self.computations, self.slow_workers, self.first_uses)
        found |= with_most_of_prefix(self.computations) & ~np.isin(self.computations.spans.worker, slow)
        rows = np.flatnonzero(found)
        found[rows] = ~are_last_steps(self.computations, rows, self.needed_by)
        for silence in self.silences:
            rows, lost = standing_still(self.computations, silence)
            excess = self.computations.durations[rows] - self.computations.usual[rows]
            found[rows[lost > excess / 2]] = False
        return found

    @cached_property
    def piles(self) -> Piles:
        """Tasks that stayed with a busy worker while others had nothing to do."""
        return piles(self.records, self.sent)

    @cached_property
    def silences(self) -> list[Silence]:
        """When workers were there, and the scheduler heard no heartbeat."""
        seen = self.samples("observatory_worker_processing_tasks")
        return silences(self.samples("observatory_worker_cpu_percent"), seen)

    def needed_by(self, prefix: int) -> Predecessors:
        """The computations whose results those of a prefix needed; of other prefixes none."""
        spans, records = self.computations.spans, self.records
        of_prefix = replace(records, spans=spans.where(spans.prefix == prefix))
        graph = read_graph(self.connection, self._cluster, of_prefix)
        return needed_computations(spans, graph, records.clock_errors_of(spans.worker))

    @cached_property
    def growths(self) -> list[Growth]:
        """Workers whose unmanaged memory grew and did not come back, the greatest growth first."""
        limits = {id: worker.memory_limit for id, worker in self.ends.items()}
        spans = self.computations.spans
        ended = {id: spans.times.stop[spans.worker == id] for id in np.unique(spans.worker).tolist()}
        return growths(self.samples("observatory_worker_memory_bytes", "unmanaged"), limits, ended)

    @cached_property
    def simulation(self) -> Predictor | None:
        """None: the window can't be simulated, or not as it was."""
        return trusted_predictor(
            window_of(self.connection, self._cluster, replace(self.records, clients=self.clients))
        )

    @property
    def whole(self) -> Intervals:
        return Intervals(np.array([self.start]), np.array([self.stop]))

    def own_seconds(self, worker: int, kind: ThreadKind) -> float:
        """Time of a kind of a worker's own threads."""
        known = self.time.workers.get(worker)
        return known.seconds[kind] if known is not None else 0.0

    @cached_property
    def waiting_tasks(self) -> WaitingTasks:
        waits = {wait: self.samples(TASK_WAITING, wait, label="in") for wait in TASK_WAITS}
        used, contention = self.samples(TASK_CPU), self.samples(CONTENTION)
        return WaitingTasks(self.computations, used, contention, waits, self.in_line, self.nested)

    @cached_property
    def nested(self) -> Intervals:
        """When each computation kept its thread and waited for tasks that it had submitted."""
        return nested_waits(self.computations.spans, self.records.transitions, self.code.task_stacks)

    @cached_property
    def idle_gpus(self) -> list[IdleGpu]:
        """The workers that used a GPU, and how long it did nothing while their tasks ran."""
        window = self.start, self.stop
        return read_idle_gpus(self.connection, self._cluster, self.computations, window, len(self.ends))

    @cached_property
    def in_line(self) -> Intervals:
        """When each task could run and had no thread yet: at the scheduler, or on its worker."""
        return joined([self.sent.waits, self.at_scheduler.times])

    @cached_property
    def at_scheduler(self) -> Stays:
        """Those of tasks that could run and had not been sent."""
        return self.stays.where(np.isin(self.stays.state, (NO_WORKER, QUEUED)))

    @cached_property
    def arrived_after(self) -> list[store.Arrival]:
        """Workers that were on their way when the window ended."""
        return store.arrived_after(self.connection, self._cluster, self.start, self.stop)

    @cached_property
    def restarts(self) -> Intervals:
        """While a client restarted all workers: until as many had come back."""
        times = [event.time for event in self.events("restarted")]
        return restarts(times, list(self.ends.values())).clipped(self.start, self.stop).union()

    @property
    def deaths(self) -> list[store.WorkerEnd]:
        """The workers that died in the window."""
        first, last = self.start / 1e6, self.stop / 1e6
        return [
            one
            for one in self.ends.values()
            if one.reason in DIED and one.ended is not None and first <= one.ended < last
        ]

    @cached_property
    def failures(self) -> list[store.Failure]:
        window = self.start, self.stop
        return store.failures(self.connection, self._cluster, *window, MOST_FAILURES, self.others)

    @cached_property
    def pairs(self) -> list[store.Pair]:
        """What workers received of each other, most bytes first."""
        return store.transfer_pairs(self.connection, self._cluster, self.start, self.stop)

    @cached_property
    def run(self) -> Run | None:
        """The run that the window is of."""
        return Run.objects.filter(pk=self.scope.run or 0).first()

    @property
    def has_finished(self) -> bool:
        """Whether the window is a run's that finished as it should."""
        return self.run is not None and self.run.outcome == Run.Outcome.FINISHED

    @cached_property
    def stopped(self) -> Stop | None:
        """What stopped the run that the window is of, or without one the cluster, from outside."""
        return stop_of_run(self.run) if self.run is not None else stop_of_cluster(self.scope.cluster)

    def has_end(self, time: float) -> bool:
        """Whether a time (seconds) at which the run ended is in the window.

        The last tasks of a run can end long before its code: a window to their end is one to the run's end.
        """
        _, last = recorded_part(self.connection, self.scope, 0, MAXIMUM_TIME)
        return self.start <= time * 1e6 <= (MAXIMUM_TIME if self.stop >= last else self.stop)

    @cached_property
    def is_over(self) -> bool:
        """Whether what had not finished in the window will not: its run or its cluster has ended."""
        cluster = self.scope.cluster
        if cluster.ended is not None and cluster.ended.timestamp() * 1e6 <= self.stop + SOON:
            return not cluster.is_unobserved
        return self.run is not None and self.run.outcome not in (Run.Outcome.RUNNING, Run.Outcome.UNSEEN)

    @cached_property
    def code(self) -> SeenCode:
        return SeenCode(self.connection, self.scope, self.start, self.stop, partial(shown_text, self.scope))

    def events(self, *kinds: str) -> list[store.Happening]:
        if kinds not in self._events:
            self._events[kinds] = store.happenings(
                self.connection, self._cluster, kinds, self.start, self.stop, MOST_EVENTS
            )
        return self._events[kinds]

    def samples(self, metric: str, value: str = "", function: str = "mean", label: str = "type") -> Samples:
        """The mean or the maximum (`function`) of a metric in each bin of the window.

        `value`: of the label, where only series with it are wanted.
        """
        wanted = (metric, value, function, label)
        if wanted not in self._samples:
            window = self.start, self.stop
            self._samples[wanted] = read_samples(
                self.connection, self._cluster, metric, window, value, function, label
            )
        return self._samples[wanted]

    @cached_property
    def without_core(self) -> WithoutCore | None:
        """How long threads were kept by a machine without a free core; None: it isn't known."""
        return without_core(self.samples, self.time)

    @cached_property
    def tasks_without_core(self) -> float:
        """The share of the time of tasks in which they were ready to run and had no core; 0: not known."""
        lost, taken = self.without_core, sum(self.waits.seconds[kind] for kind in OWN)
        return min(1.0, lost.computing / taken) if lost and taken else 0.0

    def labelled(self, metric: str, label: str) -> dict[str, LabelledSamples]:
        """The samples of a metric by a label, as they are stored: labels are not to be shown as they are."""
        window = self.start, self.stop
        return read_labelled(self.connection, self._cluster, metric, label, window)

    @cached_property
    def clients(self) -> Clients:
        return read_clients(self.connection, self._cluster, self.start, self.stop, self.others)

    def cost(self, thread_seconds: float) -> Cost:
        """The cost of time of threads: as much shorter the window would be if all threads shared it."""
        return Cost(thread_seconds, thread_seconds / self.waits.threads)

    def is_worth(self, cost: Cost) -> bool:
        """Whether it is worth a finding."""
        return cost.thread_seconds >= max(LEAST_SECONDS, LEAST_SHARE * self.waits.active)

    def peak(self, kind: ThreadKind) -> float:
        """When most threads were of a kind, in seconds."""
        bins, taken = self.time.bins, self.time.over_time[kind]
        place = int(np.argmax(taken))
        return float(bins[place] + bins[place + 1]) / 2e6

    def tasks(self, rows: Integers) -> tuple[FoundTask, ...]:
        """The tasks of some computations."""
        return tuple(task for task, _ in self.sized_tasks(rows))

    def unfinished_tasks(self, left: Spans) -> tuple[FoundTask, ...]:
        """Some of `records.unfinished`, as tasks."""
        return unfinished_tasks(self.connection, self.scope, left, self.start, self.stop)

    def sized_tasks(self, rows: Integers) -> list[tuple[FoundTask, int]]:
        """The tasks of some computations, with the size of their results in bytes."""
        return computed_tasks(self.connection, self.scope, self.computations.spans.where(rows))

    def usual_size(self, prefix: int) -> float:
        """The median size of a prefix' results, in bytes."""
        return store.usual_size(self.connection, self._cluster, prefix, self.start, self.stop)
