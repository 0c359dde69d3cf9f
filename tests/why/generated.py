"""Recordings whose critical path is known by construction, by clocks of workers that are wrong.

A cluster is simulated in which every task knows what it waited for last. It is recorded as by an
agent: the scheduler's times are right, those of a worker are wrong by what its clock is.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from observatory.why.records import Graph, Records
from tests.why.made_records import (
    SECOND,
    Span,
    Transition,
    computed,
    graph,
    life,
    recorded,
    worker,
)

LATENCY = 0.001
"""seconds that each message takes"""
HEARTBEAT = 0.5
"""seconds between two corrections of a clock"""
Clock = Callable[[float], float]
"""seconds by which a worker's clock is late at a time"""


@dataclass(frozen=True)
class Task:
    id: int
    seconds: float
    needs: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    """the client submits it when it knows that these have ended"""
    thinking: float = 0.0
    """seconds that the client takes before"""


@dataclass
class Done:
    """What happened to a task, by a clock that is right."""

    submitted: float = 0.0
    sent: float = 0.0
    worker: int = 0
    lane: int = 0
    began: float = 0.0
    ended: float = 0.0
    reported: float = 0.0
    waited_for: int = 0
    """the task that it waited for last; 0: none"""


@dataclass
class Generated:
    """Runs tasks on workers with threads, which are numbered from 1; task 0 is none.

    `overhead`: seconds that the scheduler takes for each end of a task, one after the other.
    """

    tasks: Sequence[Task]
    workers: int = 2
    threads: int = 2
    overhead: float = 0.0
    done: dict[int, Done] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._number = 0
        self._reported: set[int] = set()
        self._scheduler_free = 0.0
        self._made_room = (0, 0.0)
        """the task that made room last when all threads computed, and when"""
        self._queues: dict[int, deque[int]] = {one: deque() for one in range(1, self.workers + 1)}
        self._free = {one: list(range(self.threads)) for one in self._queues}
        self._last_on: dict[tuple[int, int], int] = {}
        self._by_id = {task.id: task for task in self.tasks}
        for task in self.tasks:
            if not task.after:
                self._submit(task, 1.0 + task.thinking)
        while self._events:
            time, _, act = heapq.heappop(self._events)
            act(time)

    def _at(self, time: float, act: Callable[[float], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (time, self._number, act))

    def _submit(self, task: Task, time: float) -> None:
        self.done[task.id] = Done()
        self._at(time, lambda now: self._arrive(task, now))

    def _arrive(self, task: Task, now: float) -> None:
        one = self.done[task.id]
        one.submitted = now
        one.waited_for = max(task.after, key=lambda id: self.done[id].reported, default=0)
        if self._reported.issuperset(task.needs):
            self._send(task, now)

    def _send(self, task: Task, now: float) -> None:
        """To the worker with the fewest tasks."""
        one = self.done[task.id]
        one.sent = now
        one.worker = min(self._queues, key=lambda id: (len(self._queues[id]) - len(self._free[id]), id))
        # what is on its way counts as there
        self._queues[one.worker].append(0)
        self._at(now + LATENCY, lambda then: self._receive(task, then))

    def _receive(self, task: Task, now: float) -> None:
        queue = self._queues[self.done[task.id].worker]
        queue.remove(0)
        queue.append(task.id)
        self._begin(self.done[task.id].worker, now)

    def _begin(self, worker: int, now: float) -> None:
        queue, free = self._queues[worker], self._free[worker]
        waiting = [id for id in queue if id]
        if not waiting or not free:
            return
        queue.remove(waiting[0])
        one, lane = self.done[waiting[0]], free.pop(0)
        one.lane, one.began = lane, now
        before = self._last_on.get((worker, lane), 0)
        if before and self.done[before].ended > one.sent:
            one.waited_for = before
        self._last_on[worker, lane] = waiting[0]
        one.ended = now + self._by_id[waiting[0]].seconds
        self._at(one.ended, lambda then: self._end(waiting[0], then))

    def _end(self, id: int, now: float) -> None:
        one = self.done[id]
        was_full = not any(self._free.values())
        self._free[one.worker].append(one.lane)
        self._scheduler_free = max(self._scheduler_free, now + LATENCY) + self.overhead
        self._at(self._scheduler_free, lambda then: self._report(id, then))
        self._begin(one.worker, now)
        if was_full and any(self._free.values()):
            self._made_room = (id, now)

    def _report(self, id: int, now: float) -> None:
        self._reported.add(id)
        self.done[id].reported = now
        for task in self.tasks:
            if id in task.needs and task.id in self.done and self._reported.issuperset(task.needs):
                last, freed = self._made_room
                self.done[task.id].waited_for = last if freed > self.done[id].ended else id
                self._send(task, now)
            if id in task.after and self._reported.issuperset(task.after):
                self._submit(task, now + task.thinking)

    @property
    def path(self) -> list[int]:
        """The tasks on the critical path, the last one first."""
        found = [max(self.done, key=lambda id: self.done[id].ended)]
        while self.done[found[-1]].waited_for:
            found.append(self.done[found[-1]].waited_for)
        return found

    @property
    def computing(self) -> float:
        """Seconds of computing on the critical path."""
        return sum(self._by_id[id].seconds for id in self.path)

    @property
    def stop(self) -> float:
        return max(one.ended for one in self.done.values())

    def record(self, clocks: Sequence[Clock] = ()) -> tuple[Records, Graph]:
        """`clocks`: of the workers; without one, it is right."""
        clock_of = dict(enumerate(clocks, 1))
        spans: list[Span] = []
        transitions: list[Transition] = []
        lanes: list[int] = []
        for id, one in self.done.items():
            wrong = clock_of.get(one.worker, _right)(one.began)
            spans.append(computed(id, one.began + wrong, one.ended + wrong, one.worker))
            lanes.append(one.worker * 100 + one.lane)
            transitions += life(id, one.sent, one.reported, one.worker, one.submitted)
        workers = [worker(id, self.threads) for id in range(1, self.workers + 1)]
        records = recorded(workers, spans, transitions)
        records.spans.lane[:] = lanes
        records = replace(records, stop=round((self.stop + 0.5) * SECOND))
        return records, graph(*((task.id, need) for task in self.tasks for need in task.needs))


def _right(time: float) -> float:
    return 0.0


def corrected_by_heartbeats(seed: int, most: float) -> Clock:
    """Each heartbeat is wrong by up to `most` seconds, in both directions."""
    numbers = random.Random(seed)
    errors = [numbers.uniform(-most, most) for _ in range(1_000)]
    phase = numbers.uniform(0, HEARTBEAT)
    return lambda time: errors[int((time + phase) / HEARTBEAT)]


def constant(seconds: float) -> Clock:
    return lambda time: seconds


def drifting(per_second: float) -> Clock:
    return lambda time: per_second * time


def rounds(count: int = 30, seconds: float = 0.2, width: int = 1, thinking: float = 0.0) -> list[Task]:
    """The client waits for each round before it submits the next one."""
    found: list[Task] = []
    before: tuple[int, ...] = ()
    for number in range(count):
        ids = tuple(number * width + place + 1 for place in range(width))
        found += [
            Task(id, seconds * (1 - place / 4 / width), (), before, thinking) for place, id in enumerate(ids)
        ]
        before = ids
    return found


def chain(count: int = 30, seconds: float = 0.2) -> list[Task]:
    return [Task(id, seconds, (id - 1,) if id > 1 else ()) for id in range(1, count + 1)]


def tree(leaves: int = 64, seconds: float = 0.2, width: int = 4) -> list[Task]:
    level = list(range(1, leaves + 1))
    found = [Task(id, seconds * (1 + id % 5 / 10)) for id in level]
    while len(level) > 1:
        parts = [tuple(level[at : at + width]) for at in range(0, len(level), width)]
        level = [len(found) + place for place in range(1, len(parts) + 1)]
        found += [Task(id, seconds, part) for id, part in zip(level, parts, strict=True)]
    return found


def pipelines(count: int = 12, steps: int = 4, seconds: float = 0.15) -> list[Task]:
    """Several chains at once, of different lengths."""
    return [
        Task(
            line * steps + step + 1,
            seconds * (1 + (line * 3 + step) % 7 / 7),
            (line * steps + step,) if step else (),
        )
        for line in range(count)
        for step in range(steps)
    ]


def on_one_thread(count: int = 120, seconds: float = 0.02) -> list[Task]:
    """As many tasks between two heartbeats as it takes to see their order change."""
    return [Task(id, seconds * (1 + id % 9)) for id in range(1, count + 1)]


def random_graph(seed: int, scale: float = 0.1) -> list[Task]:
    """Tasks that need others at random; in between the client waits for all that it submitted."""
    numbers = random.Random(seed)
    found: list[Task] = []
    after: tuple[int, ...] = ()
    for id in range(1, numbers.randint(100, 200)):
        needs: tuple[int, ...] = ()
        chance = numbers.random()
        if found and chance < 0.6:
            recent = range(max(1, id - numbers.randint(1, 12)), id)
            needs = tuple(sorted(numbers.sample(recent, min(len(recent), numbers.choice((1, 1, 1, 2, 3))))))
        elif chance < 0.62:
            after = tuple(range(1, id))
        thinking = scale if len(after) % 2 else 0.0
        seconds = scale * (numbers.choice((0.1, 1, 3 * numbers.random())) + numbers.random() / 100)
        found.append(Task(id, seconds, needs, after, thinking))
    return found
