"""Turns a cluster dump of Dask into records: last state, histories of tasks, errors and logs."""

from __future__ import annotations

import calendar
import heapq
import json
import logging
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from observatory.exchange.bundles.manifest import ClusterFacts, RunFacts
from observatory.exchange.imports.agent_rows import (
    AFTER,
    AgentRows,
    as_count,
    as_json,
    as_list,
    as_mapping,
    as_number,
    as_text,
)
from observatory.exchange.imports.allowance import Allowance
from observatory.exchange.imports.cluster_dumps import Dump
from observatory.exchange.imports.dump_keys import DumpKeys, saved_key
from observatory.exchange.imports.refusal import Refused
from observatory.wire.event_kinds import CLUSTER_ENDED
from observatory.wire.kind import MAXIMUM_NAME_LENGTH
from observatory.wire.records import TASK_STATES, Action, Status, is_time, key_text

STATUS = re.compile(r"'(\w+)'")
LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3}) - (\S+) - \w+ - (.*)", re.DOTALL)
"""Dask's format of log lines"""
QUARTER = 900
"""seconds; time zones differ from UTC by multiples of this"""
FARTHEST = 14 * 4
GAUGE = 1
TIMED = ("transition", "span", "transfer", "event")


def records_of(dump: Dump, allowance: Allowance) -> tuple[AgentRows, RunFacts, ClusterFacts]:
    """The records of the dump, its run and cluster. Raises Refused if the dump has no times."""
    reader = _Reader(dump, allowance)
    return reader.rows, reader.run(), reader.cluster()


class _Reader:
    def __init__(self, dump: Dump, allowance: Allowance) -> None:
        self.rows = AgentRows(allowance)
        self.scheduler = as_mapping(dump.get("scheduler"))
        self.keys = DumpKeys()
        self.tasks = self.keys.read(self.scheduler.get("tasks"))
        self.workers = {
            as_text(address): as_mapping(worker)
            for address, worker in as_mapping(self.scheduler.get("workers")).items()
        }
        self.rows_by_workers = {
            as_text(address): as_mapping(worker)
            for address, worker in as_mapping(dump.get("workers")).items()
        }
        self.versions = as_mapping(as_mapping(dump.get("versions")).get("workers"))
        self._transitions()
        self._spans_and_transfers()
        self._events()
        self.start, self.end = self._window()
        self.started = as_number(self.scheduler.get("started"))
        if not is_time(self.started) or self.started > self.start:
            self.started = self.start
        self._workers()
        self._tasks()
        self._states()
        self._logs()

    def run(self) -> RunFacts:
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(self.end))
        erred = any(task.get("state") == "erred" for task in self.tasks.values())
        return RunFacts(
            name=f"Dump of {when} UTC",
            start=self.start,
            stop=self.end + AFTER,
            outcome="erred" if erred else "finished",
        )

    def cluster(self) -> ClusterFacts:
        address = as_text(self.scheduler.get("address"))[:500]
        return ClusterFacts(
            name=(address or "cluster dump")[:100],
            scheduler_id=as_text(self.scheduler.get("id"))[:200] or "unknown",
            address=address,
            started=self.started,
            has_agent=True,
        )

    def _window(self) -> tuple[float, float]:
        times = self.rows.times(*TIMED)
        seen = [as_number(worker.get("last_seen")) for worker in self.workers.values()]
        ends = [*times, *filter(is_time, seen)]
        started = as_number(self.scheduler.get("started"))
        if not ends and not is_time(started):
            raise Refused("The dump has no worker and no task.")
        end = max(ends, default=started)
        return min(times, default=min(started if is_time(started) else end, end - AFTER)), end

    def _transitions(self) -> None:
        for entry in as_list(self.scheduler.get("transition_log")):
            if isinstance(entry, list) and len(entry) >= 5 and is_time(as_number(entry[-1])):
                stimulus = as_text(entry[-2]) if len(entry) > 5 else ""
                key, start, finish = saved_key(entry[0]), as_text(entry[1]), as_text(entry[2])
                if key is not None:
                    self.rows.add("transition", as_number(entry[-1]), key, start, finish, "", stimulus)

    def _spans_and_transfers(self) -> None:
        for address, worker in self.rows_by_workers.items():
            spans = sorted(_spans(self.keys.read(worker.get("tasks"))), key=lambda span: span[2:4])
            for lane, (key, action, start, stop, nbytes, status) in _on_lanes(spans):
                self.rows.add("span", address, lane, key, action, start, stop, nbytes, "", status)
            for direction, name in enumerate(("incoming", "outgoing")):
                # before distributed 2022.12 it was incoming_transfer_log
                log = worker.get(f"transfer_{name}_log", worker.get(f"{name}_transfer_log"))
                for entry in map(as_mapping, as_list(log)):
                    self._transfer(address, direction, entry)

    def _transfer(self, address: str, direction: int, entry: Mapping[Any, Any]) -> None:
        keys = as_mapping(entry.get("keys"))
        start, stop = as_number(entry.get("start")), as_number(entry.get("stop"))
        amounts = as_number(entry.get("total")), as_number(entry.get("compressed"))
        first = {key_text(self.keys.named(name)): size for name, size in islice(keys.items(), 100)}
        peer = as_text(entry.get("who"))
        row = (start, stop, address, peer, direction, *amounts, as_json(first), len(keys))
        self.rows.add("transfer", *row)

    def _events(self) -> None:
        """Newer versions of Dask dump only the number of a topic's events."""
        for topic, entries in as_mapping(self.scheduler.get("events")).items():
            name = as_text(topic)[:MAXIMUM_NAME_LENGTH]  # it is repeated in each event
            for entry in as_list(entries):
                if isinstance(entry, list) and len(entry) == 2 and is_time(as_number(entry[0])):
                    worker = name if name in self.workers else ""
                    action = as_text(as_mapping(entry[1]).get("action")) or str(entry[1])[:200]
                    detail = {"message": f"{name}: {action}", "topic": name, "event": entry[1]}
                    self.rows.add("event", as_number(entry[0]), "topic", worker, as_json(detail))

    def _workers(self) -> None:
        """Workers in their last status, until the run's stop."""
        firsts: dict[str, float] = {}
        for row in self.rows.rows.get("span", ()):
            firsts[row[0]] = min(firsts.get(row[0], self.end), row[4])
        for address, worker in self.workers.items():
            status = STATUS.search(as_text(worker.get("status")))
            detail = {
                "pid": worker.get("pid"),
                "directory": worker.get("local_directory"),
                "versions": self.versions.get(address),
            }
            self.rows.add(
                "worker",
                min(firsts.get(address, self.start), self.start),
                address,
                as_text(worker.get("name")),
                as_text(worker.get("host")),
                as_count(worker.get("nthreads")),
                as_number(worker.get("memory_limit")),
                status[1] if status else "running",
                as_json(worker.get("resources")),
                as_json({name: value for name, value in detail.items() if value is not None}),
            )
            self.rows.add("gone", self.end + AFTER, address, CLUSTER_ENDED)
            self._samples_of(address, worker)

    def _samples_of(self, address: str, worker: Mapping[Any, Any]) -> None:
        memory, metrics = as_mapping(worker.get("memory")), as_mapping(worker.get("metrics"))
        for kind in ("process", "managed", "unmanaged", "spilled"):
            if kind in memory:
                self._sample("observatory_worker_memory_bytes", memory[kind], address, type=kind)
        for name, metric in (
            ("cpu", "observatory_worker_cpu_percent"),
            ("event_loop_interval", "observatory_worker_event_loop_interval_seconds"),
            ("gil_contention", "observatory_worker_gil_contention_ratio"),
            ("num_fds", "observatory_worker_file_descriptors"),
        ):
            if name in metrics:
                self._sample(metric, metrics[name], address)
        self._sample("observatory_worker_processing_tasks", len(as_list(worker.get("processing"))), address)

    def _sample(self, metric: str, value: Any, worker: str = "", **labels: str) -> None:
        self.rows.add("sample", self.end, as_number(value), json.dumps([metric, labels, worker, GAUGE]))

    def _states(self) -> None:
        """The number of tasks in each state and the resources of the cluster, at the end."""
        states = Counter(as_text(task.get("state")) for task in self.tasks.values())
        for state in TASK_STATES[:-1]:
            self._sample("observatory_cluster_tasks", states[state], state=state)
        self._sample("observatory_cluster_workers", len(self.workers), state="total")
        threads = sum(as_count(worker.get("nthreads")) for worker in self.workers.values())
        self._sample("observatory_cluster_threads", threads)

    def _tasks(self) -> None:
        """Settings, dependencies and errors of the tasks."""
        first: dict[Any, float] = {}
        erred: dict[Any, float] = {}
        for moment, key, _, finish, *_ in self.rows.rows.get("transition", ()):
            first.setdefault(key, moment)
            if finish == "erred":
                erred[key] = moment
        blamed = Counter(self.keys.shown(task.get("exception_blame")) for task in self.tasks.values())
        for key, task in self.tasks.items():
            moment = first.get(key, self.start)
            asked = as_json(task.get("annotations")), as_json(task.get("resource_restrictions"))
            priority = as_list(task.get("priority"))
            shown = f"({', '.join(map(as_text, priority))})" if priority else ""
            self.rows.add("task", moment, "", key, shown, as_count(task.get("retries")), *asked)
            for needed in as_list(task.get("dependencies")):
                if (other := self.keys.shown(needed)) is not None:
                    self.rows.add("dependency", moment, "", key, other)
            blame = self.keys.shown(task.get("exception_blame"))
            if task.get("state") == "erred" and (blame is None or blame == key):
                self._error(erred.get(key, self.end), key, task, max(blamed[key] - 1, 0))

    def _error(self, moment: float, key: Any, task: Mapping[Any, Any], dependents: int) -> None:
        said = as_text(task.get("exception_text"))
        name, bracket, rest = said.partition("(")
        is_call = bracket and name.replace(".", "").isidentifier() and rest.endswith(")")
        workers = [as_text(address) for address in as_list(task.get("erred_on"))]
        self.rows.add(
            "error",
            moment,
            key,
            workers[-1] if workers else "",
            "erred",
            name if is_call else "",
            rest[:-1].strip("'\"") if is_call else said,
            as_text(task.get("traceback_text")),
            as_count(task.get("retries")),
            json.dumps(workers),
            dependents,
        )

    def _logs(self) -> None:
        lines = list(_lines("scheduler", "", self.scheduler.get("logs")))
        for address, worker in self.rows_by_workers.items():
            lines += _lines("worker", address, worker.get("logs"))
        shift = self._shift([line[0] for line in lines if line[0]])
        for moment, role, address, level, logger, message in lines:
            when = moment + shift if moment else self.end
            when = when if self.started - QUARTER <= when <= self.end + AFTER else self.end
            self.rows.add("log", when, role, address, level, logger, message, "", 0)

    def _shift(self, moments: list[float]) -> float:
        """The offset in seconds from the lines' local times to the dump's UTC."""
        if not moments:
            return 0.0
        first, last = min(moments), max(moments)
        for quarters in sorted(range(-FARTHEST, FARTHEST + 1), key=abs):
            shift = quarters * QUARTER
            if self.started - QUARTER < first + shift and last + shift < self.end + AFTER:
                return float(shift)
        return 0.0


def _spans(tasks: Mapping[Any, Mapping[Any, Any]]) -> Iterator[tuple[Any, int, float, float, float, int]]:
    for key, item in tasks.items():
        status = Status.ERROR if item.get("state") == "error" else Status.OK
        for part in map(as_mapping, as_list(item.get("startstops"))):
            start, stop = as_number(part.get("start")), as_number(part.get("stop"))
            try:
                action = Action.of(as_text(part.get("action")))
            except ValueError:
                continue
            if is_time(start) and is_time(stop) and start <= stop:
                yield key, int(action), start, stop, as_number(item.get("nbytes")), int(status)


def _on_lanes(spans: list[Any]) -> Iterator[tuple[int, Any]]:
    """Assigns each span to a free lane, as a dump has no threads. `spans` are in order of their start."""
    busy: list[tuple[float, int]] = []
    for span in spans:
        lane = heapq.heappop(busy)[1] if busy and busy[0][0] <= span[2] else len(busy)
        heapq.heappush(busy, (span[3], lane))
        yield lane, span


def _lines(role: str, address: str, logs: Any) -> Iterator[tuple[float, str, str, int, str, str]]:
    """(local time or 0, role, address, level, logger, message) of each line."""
    levels = logging.getLevelNamesMapping()
    for entry in as_list(logs):
        if not isinstance(entry, list) or len(entry) != 2:
            continue
        level, said = levels.get(as_text(entry[0]), 0), as_text(entry[1])
        if found := LINE.fullmatch(said):
            moment = _local(found[1]) + int(found[2]) / 1000
            yield moment, role, address, level, found[3], found[4]
        else:
            yield 0.0, role, address, level, "", said


def _local(text: str) -> float:
    try:
        return float(calendar.timegm(time.strptime(text, "%Y-%m-%d %H:%M:%S")))
    except ValueError:
        return 0.0
