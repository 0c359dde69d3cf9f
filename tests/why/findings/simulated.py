"""A cluster that is made up: a list scheduler that runs a graph and records what an agent would have."""

from __future__ import annotations

import heapq
import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.keys import split_key
from observatory.store.times import MAXIMUM_TIME, from_seconds
from observatory.why.findings.answer import findings
from observatory.why.window import readable_part
from observatory.wire.records import Action, Event, Sample, Series, Span, Status, WorkerGone, WorkerSeen
from tests.replay.conftest import make_cluster
from tests.support.recorded_cluster import START
from tests.why.consistency import contradictions

GIB = 2**30


@dataclass(frozen=True)
class Task:
    key: str
    seconds: float
    needs: tuple[str, ...] = ()
    nbytes: int = 1_000

    @property
    def prefix(self) -> str:
        return split_key(self.key)[0]

    @property
    def group(self) -> str:
        return split_key(self.key)[1]


@dataclass(frozen=True)
class Death:
    worker: int
    at: float
    restarts_after: float = 1.0


@dataclass(frozen=True)
class Pause:
    worker: int
    start: float
    stop: float


@dataclass
class Worker:
    number: int
    life: int = 0
    free: int = 0
    is_alive: bool = True
    is_paused: bool = False
    is_leaving: bool = False
    sent: deque[str] = field(default_factory=deque)
    """tasks that stay with it until it has a thread for them"""
    lanes: list[int] = field(default_factory=list)
    """threads without a task"""

    @property
    def takes_tasks(self) -> bool:
        return self.is_alive and not self.is_paused and not self.is_leaving

    @property
    def address(self) -> str:
        return f"tcp://10.0.{self.life}.{self.number}:4000"


@dataclass
class Simulated:
    """Runs `tasks`; times are seconds after START.

    `overhead`: of the scheduler for each task, one after the other. `bandwidth`: bytes a second of results of
    other workers, for which a thread waits. `slowness`: factor of a worker. `tries`: how often a task fails.
    `refusals`: seconds after which the first call of a task raises `Reschedule`.
    `late`: seconds between a task's arrival at a worker and its beginning. `blocked`: from when until when a
    worker doesn't report the ends of its tasks. `joins`, `leaves`: when a worker
    comes, and when it leaves in order, with its tasks done; else all are there throughout. `stay`: the worker
    to which all tasks of a prefix are sent at once, and with which they stay. `required`: resources that the
    tasks of a prefix are recorded to require. `executors`: that annotations name for tasks of a prefix.
    """

    tasks: Sequence[Task]
    workers: int = 4
    threads: int = 2
    overhead: float = 0.001
    bandwidth: float = 1e9
    slowness: Mapping[int, float] = field(default_factory=dict)
    deaths: Sequence[Death] = ()
    pauses: Sequence[Pause] = ()
    late: Mapping[int, float] = field(default_factory=dict)
    blocked: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    tries: Mapping[str, int] = field(default_factory=dict)
    refusals: Mapping[str, float] = field(default_factory=dict)
    joins: Mapping[int, float] = field(default_factory=dict)
    leaves: Mapping[int, float] = field(default_factory=dict)
    stay: Mapping[str, int] = field(default_factory=dict)
    required: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    executors: Mapping[str, str] = field(default_factory=dict)
    hosts: Callable[[int], str] = lambda number: "10.0.0.1"
    submitted: float = 0.0
    makespan: float = 0.0
    spans: list[Span] = field(default_factory=list)
    transitions: list[tuple[Any, ...]] = field(default_factory=list)
    transfers: list[tuple[Any, ...]] = field(default_factory=list)
    errors: list[tuple[Any, ...]] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    activities: list[tuple[float, float, str, str]] = field(default_factory=list)
    """of the client: start, stop, run, what it did"""
    seen: list[WorkerSeen] = field(default_factory=list)
    gone: list[WorkerGone] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._by_key = {task.key: task for task in self.tasks}
        self._crew = [
            Worker(number, free=self.threads, lanes=[*range(self.threads)]) for number in range(self.workers)
        ]
        self._where: dict[str, Worker] = {}
        self._running: dict[str, tuple[Worker, int]] = {}
        self._queue: deque[str] = deque()
        self._states = {task.key: "released" for task in self.tasks}
        self._failed: dict[str, int] = {}
        self._refused: set[str] = set()
        self._changed: dict[str, float] = {}
        self._scheduler_free = self.submitted
        self._heap: list[tuple[float, int, Callable[[float], None]]] = []
        self._count = 0
        for worker in self._crew:
            worker.is_alive = worker.number not in self.joins
            if worker.is_alive:
                self._see(worker, -1.0)
        self._run()

    def _run(self) -> None:
        for task in self.tasks:
            self._go(self.submitted, task.key, "waiting")
        for number, time in self.joins.items():
            self._later(time, lambda now, number=number: self._restart(self._crew[number], now))
        for number, time in self.leaves.items():
            self._later(time, lambda now, number=number: self._leave(self._crew[number], now))
        for death in self.deaths:
            self._later(death.at, lambda now, death=death: self._die(death, now))
        for pause in self.pauses:
            for time, status in ((pause.start, "paused"), (pause.stop, "running")):
                self._later(time, self._turning(self._crew[pause.worker], status))
        self._offer(self.submitted)
        while self._heap and any(state != "memory" for state in self._states.values()):
            now, _, act = heapq.heappop(self._heap)
            act(now)
            self._offer(now)

    def _later(self, time: float, act: Callable[[float], None]) -> None:
        self._count += 1
        heapq.heappush(self._heap, (time, self._count, act))

    def _see(self, worker: Worker, now: float) -> None:
        host = self.hosts(worker.number)
        self.seen.append(
            WorkerSeen(worker.address, f"w{worker.number}", host, self.threads, 4 * GIB, START + now)
        )

    def _go(self, now: float, key: str, state: str, worker: str = "", stimulus: str = "made-up") -> None:
        now = self._changed[key] = max(now, self._changed.get(key, now) + 2e-6)
        self.transitions.append((START + now, key, self._states[key], state, worker, stimulus))
        self._states[key] = state

    def _offer(self, now: float) -> None:
        """Queue what can run, and send what has a free thread."""
        for key, state in self._states.items():
            if state == "waiting" and all(self._states[need] == "memory" for need in self._by_key[key].needs):
                if (number := self.stay.get(self._by_key[key].prefix)) is not None:
                    self._go(now, key, "processing", self._crew[number].address)
                    self._crew[number].sent.append(key)
                    continue
                self._go(now, key, "queued")
                self._queue.append(key)
        for worker in self._crew:
            while worker.takes_tasks and worker.free and worker.sent:
                worker.free -= 1
                key = worker.sent.popleft()
                self._running[key] = (worker, worker.life)
                ends = now + self._by_key[key].seconds
                self._later(ends, self._ending(key, worker, worker.life, now))
        for worker in sorted(self._crew, key=lambda one: -one.free):
            while worker.takes_tasks and worker.free and self._queue:
                worker.free -= 1
                key = self._queue.popleft()
                self._scheduler_free = max(self._scheduler_free, now) + self.overhead
                self._running[key] = (worker, worker.life)
                self._later(self._scheduler_free, self._sending(key, worker, worker.life))

    def _sending(self, key: str, worker: Worker, life: int) -> Callable[[float], None]:
        def send(now: float) -> None:
            if worker.life != life or not worker.is_alive:
                return
            task = self._by_key[key]
            if any(self._states[need] != "memory" for need in task.needs):  # lost since it was queued
                worker.free += 1
                del self._running[key]
                self._go(now, key, "waiting")
                return
            self._go(now, key, "processing", worker.address)
            begin = now + self.late.get(worker.number, 0.0)
            for need in task.needs:
                sender, needed = self._where[need], self._by_key[need]
                if sender is not worker:
                    stop = begin + needed.nbytes / self.bandwidth
                    sizes = json.dumps({need: needed.nbytes})
                    row = (START + begin, START + stop, worker.address, sender.address, 0)
                    self.transfers.append((*row, needed.nbytes, 0, sizes, 1))
                    begin = stop
            if key in self.refusals and key not in self._refused:
                self._later(begin + self.refusals[key], self._refusing(key, worker))
                return
            seconds = task.seconds * self.slowness.get(worker.number, 1.0)
            self._later(begin + seconds, self._ending(key, worker, life, begin))

        return send

    def _refusing(self, key: str, worker: Worker) -> Callable[[float], None]:
        lane = heapq.heappop(worker.lanes)

        def refuse(now: float) -> None:
            heapq.heappush(worker.lanes, lane)
            worker.free += 1
            del self._running[key]
            self._refused.add(key)
            for state in ("released", "waiting"):
                self._go(now, key, state, stimulus=f"reschedule-{now}")

        return refuse

    def _ending(self, key: str, worker: Worker, life: int, begin: float) -> Callable[[float], None]:
        lane = heapq.heappop(worker.lanes)

        def end(now: float) -> None:
            if worker.life != life or not worker.is_alive:
                return
            task = self._by_key[key]
            heapq.heappush(worker.lanes, lane)
            failed = self._failed.get(key, 0) < self.tries.get(key, 0)
            status = Status.ERROR if failed else Status.OK
            times = (START + begin, START + now)
            nbytes = 0 if failed else task.nbytes
            self.spans.append(
                Span(worker.address, lane, key, task.prefix, task.group, Action.COMPUTE,
                     *times, nbytes, "int", status)
            )  # fmt: skip
            first, last = self.blocked.get(worker.number, (0.0, 0.0))
            if first <= now < last:
                self._later(last, lambda then: report(then, failed))
            else:
                report(now, failed)

        def report(now: float, failed: bool) -> None:
            worker.free += 1
            self._running.pop(key)
            if worker.is_leaving and worker.free == self.threads:
                self.gone.append(WorkerGone(worker.address, START + now + 0.01, "retired"))
            if failed:
                self._failed[key] = self._failed.get(key, 0) + 1
                self.error(now, key, worker.address, "retried")
                self._go(now, key, "released")
                self._go(now, key, "waiting")
                return
            self._where[key] = worker
            self._go(now, key, "memory", worker.address)
            self.makespan = max(self.makespan, now)

        return end

    def _die(self, death: Death, now: float) -> None:
        worker = self._crew[death.worker]
        worker.is_alive = False
        self.gone.append(WorkerGone(worker.address, START + now, "lost"))
        running = [key for key, (one, _) in self._running.items() if one is worker]
        held = [key for key, one in self._where.items() if one is worker and self._is_needed(key)]
        for key in running:
            del self._running[key]
        for key in [*running, *held]:
            self._where.pop(key, None)
            self._go(now, key, "released")
            self._go(now, key, "waiting")
        self._later(now + death.restarts_after, lambda then: self._restart(worker, then))

    def _leave(self, worker: Worker, now: float) -> None:
        worker.is_leaving = True
        if worker.free == self.threads:
            self.gone.append(WorkerGone(worker.address, START + now, "retired"))

    def _turning(self, worker: Worker, status: str) -> Callable[[float], None]:
        def turn(now: float) -> None:
            worker.is_paused = status == "paused"
            self.events.append(Event(START + now, "worker-status", worker.address, {"status": status}))

        return turn

    def _is_needed(self, key: str) -> bool:
        return any(key in task.needs and self._states[task.key] != "memory" for task in self.tasks)

    def _restart(self, worker: Worker, now: float) -> None:
        worker.life, worker.free, worker.is_alive = worker.life + 1, self.threads, True
        worker.lanes = [*range(self.threads)]
        self._see(worker, now)

    def then(self, tasks: Sequence[Task]) -> Simulated:
        """Run further tasks afterwards, on the same workers; results of those before were released."""
        later = Simulated(
            tasks, self.workers, self.threads, self.overhead, self.bandwidth, submitted=self.makespan + 0.1
        )
        released = [
            (START + self.makespan + 0.05, key, "memory", "released", "", "made-up") for key in self._states
        ]
        self.spans += later.spans
        self.transitions += [*released, *later.transitions]
        self.transfers += later.transfers
        self.makespan = later.makespan
        return self

    def error(
        self,
        now: float,
        key: str,
        worker: str,
        outcome: str,
        exception: str = "ValueError",
        message: str = "no",
    ) -> None:
        row = (START + now, key, worker, outcome, exception, message, "", 0, json.dumps([worker]), 0)
        self.errors.append(row)

    def sample(
        self, metric: str, value: float, start: float, stop: float, worker: int | None = None, **labels: str
    ) -> None:
        """A value each half second."""
        address = "" if worker is None else self._crew[worker].address
        series = Series(metric, tuple(sorted(labels.items())), address)
        steps = range(round((stop - start) * 2) + 1)
        self.samples += [Sample(series, START + start + step / 2, value) for step in steps]

    def record(self) -> Cluster:
        """Store everything."""
        cluster = make_cluster(START - 1, f"Scheduler-{uuid4()}")
        rows = {
            "transition": self.transitions,
            "transfer": self.transfers,
            "error": self.errors,
            "client_activity": [
                (START + first, START + last, *rest) for first, last, *rest in self.activities
            ],
            "task": [
                (
                    START,
                    "",
                    task.key,
                    "",
                    0,
                    self._annotations(task),
                    dict(self.required.get(task.prefix, {})),
                )
                for task in self.tasks
                if task.prefix in self.required or task.prefix in self.executors
            ],
            "dependency": [(START, "", task.key, need) for task in self.tasks for need in task.needs],
        }
        with Writer() as writer:
            writer.write(
                Batch.of(
                    cluster.pk,
                    self.seen,
                    self.spans,
                    self.samples,
                    self.events,
                    self.gone,
                    committed=START + self.makespan + 1,
                    rows={kind: sorted(some) for kind, some in rows.items() if some},
                )
            )
        Cluster.objects.filter(pk=cluster.pk).update(ended=from_seconds(START + self.makespan + 1))
        return Cluster.objects.get(pk=cluster.pk)

    def _annotations(self, task: Task) -> dict[str, str]:
        return {"executor": self.executors[task.prefix]} if task.prefix in self.executors else {}

    def findings(self) -> list[dict[str, Any]]:
        with read_connection() as connection:
            return found_in(connection, Scope(self.record()))


def found_in(connection: Any, scope: Scope) -> list[dict[str, Any]]:
    """The findings; checks that threads, critical path, findings and simulations agree."""
    wrong = contradictions(connection, scope, *readable_part(connection, scope, 0, MAXIMUM_TIME))
    assert not wrong, wrong
    found: list[dict[str, Any]] = findings(connection, scope, 0, MAXIMUM_TIME)["findings"]
    return found


def map_reduce(tasks: int = 64, seconds: float = 0.5, reduces: int = 4) -> list[Task]:
    """As of an array: loads, a map, and sums of sums."""
    loads = [Task(f"load-{place}", seconds * (0.9 + 0.2 * (place * 7 % 10) / 10)) for place in range(tasks)]
    maps = [Task(f"inc-{place}", seconds / 2, (load.key,)) for place, load in enumerate(loads)]
    return [*loads, *maps, *tree([task.key for task in maps], seconds / 2, tasks // reduces)]


def tree(keys: Iterable[str], seconds: float, width: int = 4) -> list[Task]:
    """A reduction: each task takes up to `width` others."""
    level, number, found = list(keys), 0, []
    while len(level) > 1:
        parts = [tuple(level[first : first + width]) for first in range(0, len(level), width)]
        made = [Task(f"sum-{number + place}", seconds, part) for place, part in enumerate(parts)]
        number += len(made)
        found += made
        level = [task.key for task in made]
    return found


def futures(tasks: int = 80, seconds: float = 0.4, prefix: str = "work") -> list[Task]:
    return [Task(f"{prefix}-{place}", seconds) for place in range(tasks)]
