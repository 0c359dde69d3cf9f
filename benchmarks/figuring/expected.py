"""What figures must be, computed from what the independent recorder wrote. Times are seconds."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Line = dict[str, Any]
Pair = tuple[str, str]
UNFINISHED = ("waiting", "no-worker", "queued", "processing")
AROUND = 2.5
"""seconds by which the sample that is shown at an instant is older: a heartbeat and a tick of the agent"""

BIN = 5.0
"""seconds of the bins in which peaks of memory are taken"""


class Recorded:
    """The lines of one cluster, and the window [start, stop] of its run."""

    def __init__(self, folder: Path, start: float, stop: float) -> None:
        self.start, self.stop = start, stop
        self._lines: defaultdict[str, list[Line]] = defaultdict(list)
        for path in sorted(folder.glob("*.jsonl")):
            for text in path.read_text().splitlines():
                line = json.loads(text)
                self._lines[line["kind"]].append(line)
        for lines in self._lines.values():
            lines.sort(key=lambda line: line["time"])

    def _spans(self) -> Iterator[tuple[str, str, float, float, int]]:
        """Prefix, action, begin, end and bytes of each action of a task."""
        seen = set()
        for line in (*self._lines["transition"], *self._lines["failed"]):
            for action, begun, ended in line["startstops"]:
                if (span := (line["key"], action, round(begun, 3))) not in seen:
                    seen.add(span)
                    yield line["prefix"], action, begun, ended, line.get("nbytes") or 0

    def computations(self) -> dict[str, list[float]]:
        """The durations of those that ended in the run, by prefix."""
        found: defaultdict[str, list[float]] = defaultdict(list)
        for prefix, action, begun, ended, _ in self._spans():
            if action == "compute" and self.start < ended <= self.stop:
                found[prefix].append(ended - begun)
        return dict(found)

    def computing(self) -> Counter[str]:
        """The seconds of those in the run, by prefix: one can begin before it by the error of a clock."""
        found: Counter[str] = Counter()
        for prefix, action, begun, ended, _ in self._spans():
            if action == "compute":
                found[prefix] += self._within(begun, ended)  # type: ignore[assignment]
        return found

    def seconds(self, *actions: str) -> float:
        """Spent on actions in the run, summed over threads."""
        return sum(
            self._within(begun, ended) for _, action, begun, ended, _ in self._spans() if action in actions
        )

    def _within(self, begun: float, ended: float) -> float:
        return max(0.0, min(ended, self.stop) - max(begun, self.start))

    def nbytes(self) -> dict[str, int]:
        """The sizes of the results, by prefix."""
        found: Counter[str] = Counter()
        for prefix, action, _, ended, nbytes in self._spans():
            if action == "compute" and self.start < ended <= self.stop:
                found[prefix] += nbytes
        return dict(found)

    def errors(self) -> int:
        """Tasks that failed themselves, for good."""
        return len(self.failed())

    def progress(self, at: float) -> dict[str, Counter[str]]:
        """Tasks by prefix that are done, erred and left: each once, by the state that it reached last."""
        last: dict[str, tuple[str, str]] = {}
        for line in self._lines["transition"]:
            if line["time"] > at or not line["prefix"]:
                continue
            key, finish = line["key"], line["finish"]
            if finish == "memory":
                last[key] = line["prefix"], "done"
            elif finish == "erred":
                last[key] = line["prefix"], "erred"
            elif finish in UNFINISHED:
                last[key] = line["prefix"], "left"
            elif finish in ("released", "forgotten") and last.get(key, ("", ""))[1] == "left":
                del last[key]
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for prefix, state in last.values():
            found[prefix][state] += 1
        return dict(found)

    def results(self, at: float) -> dict[str, int]:
        """The bytes of the results that were in memory at an instant, by key."""
        held: dict[str, int] = {}
        for line in self._lines["transition"]:
            if line["time"] > at:
                break
            if line["finish"] == "memory":
                held[line["key"]] = line["nbytes"] or 0
            elif line["start"] == "memory":
                held.pop(line["key"], None)
        return held

    def computed_on(self, key: str) -> str:
        """The address of the worker that computed a task last."""
        return [
            str(line["worker"])
            for line in self._lines["transition"]
            if line["key"] == key and line["start"] == "processing" and line["finish"] == "memory"
        ][-1]

    def failed(self) -> list[tuple[str, float]]:
        """Keys and times of the tasks that failed themselves in the run, for good."""
        return [
            (line["key"], line["time"])
            for line in self._lines["transition"]
            if line["start"] == "processing" and line["finish"] == "erred" and self._is_in(line["time"])
        ]

    def slots(self) -> set[str]:
        """The workers of the run, by their names."""
        return {worker["name"] for worker, *_ in self._lifetimes()}

    def lifetimes(self) -> int:
        return sum(1 for _ in self._lifetimes())

    def there(self, at: float) -> list[str]:
        """The addresses of the workers that there were at an instant."""
        found = (worker for worker, begun, ended in self._lifetimes() if begun <= at < ended)
        last = (worker for worker, _, ended in self._lifetimes() if at >= self.stop == ended)
        return sorted({worker["address"] for worker in (*found, *last)})

    def most_at_a_time(self, field: str) -> int:
        """Threads or memory limits of the workers at a time."""
        changes = [
            change
            for worker, begun, ended in self._lifetimes()
            for change in ((begun, 1, worker[field]), (ended, 0, -worker[field]))
        ]
        return int(max(np.cumsum([amount for _, _, amount in sorted(changes)]), default=0))

    def _lifetimes(self) -> Iterator[tuple[Line, float, float]]:
        """Each worker that was there in the run, and when it was."""
        removed = [(line["address"], line["time"]) for line in self._lines["removed"]]
        for worker in self._lines["worker"]:
            of_it = [time for address, time in removed if address == worker["address"]]
            ended = min((time for time in of_it if time >= worker["time"]), default=self.stop)
            if worker["time"] < self.stop and ended > self.start:
                yield worker, max(worker["time"], self.start), min(ended, self.stop)

    def transfers(self) -> tuple[dict[Pair, int], dict[Pair, int]]:
        """Bytes and number of transfers that began in the run, by sender and receiver, with shuffles."""
        nbytes: Counter[Pair] = Counter()
        count: Counter[Pair] = Counter()
        for line in (*self._lines["transfer"], *self._lines["shards"]):
            pair = line["sender"], line["receiver"]
            if line["sender"] != line["receiver"] and self._is_in(line["start"]):
                nbytes[pair] += line["nbytes"]
                count[pair] += 1
        return dict(nbytes), dict(count)

    def shuffled(self) -> dict[str, int]:
        """The bytes that workers sent each other, by shuffle."""
        found: Counter[str] = Counter()
        for line in self._lines["shards"]:
            if self._is_in(line["start"]) and line["sender"] != line["receiver"]:
                found[line["shuffle"]] += line["nbytes"]
        return dict(found)

    def memory(self, address: str, at: float, field: str) -> tuple[float, float] | None:
        """The least and most that a worker had around an instant; None: not sampled.

        A worker registers before the recorder's plugin begins: what it said then is unknown here.
        """
        samples = self._samples(address, field)
        if not samples or samples[0][0] > at - AROUND:
            return None
        near = [value for time, value in samples if abs(time - at) <= AROUND]
        return (min(near), max(near)) if near else None

    def peak(self, field: str) -> tuple[float, float]:
        """Between what the peak of memory is, if a worker's sample can be as much as AROUND older or newer.

        As docs/figures.md defines it: of each bin the most of each worker, added; of the bins the most.
        """
        names = {line["address"]: line["name"] for line in self._lines["worker"]}
        least: defaultdict[int, dict[str, float]] = defaultdict(dict)
        most: defaultdict[int, dict[str, float]] = defaultdict(dict)
        for address in sorted({line["address"] for line in self._lines["memory"]}):
            name = names.get(address, address)
            samples = [(time, value) for time, value in self._samples(address, field) if self._is_in(time)]
            for bin in range(int(self.start // BIN), int(self.stop // BIN) + 1):
                times = [time for time, _ in samples if time // BIN == bin]
                near = [value for time, value in samples if _is_near(time, bin)]
                if near:
                    most[bin][name] = max(most[bin].get(name, 0.0), *near)
                if times and times[-1] - times[0] >= AROUND:  # long enough to have a sample for sure
                    sure = (min(value for time, value in samples if abs(time - at) <= AROUND) for at in times)
                    least[bin][name] = max(least[bin].get(name, 0.0), *sure)
        return _greatest(least), _greatest(most)

    def _samples(self, address: str, field: str) -> list[tuple[float, float]]:
        """Memory can rise and fall within the recorder's interval: samples of Dask's monitor count too."""
        found = [(line["time"], line[field]) for line in self._lines["memory"] if line["address"] == address]
        return [*found, *self.monitored(address, "memory")] if field == "process" else found

    def monitored(self, address: str, field: str) -> list[tuple[float, float]]:
        """Time and value of each sample of a worker's monitor."""
        return [
            (line["at"], line[field])
            for line in self._lines["monitor"]
            if line["address"] == address and line[field] is not None
        ]

    def profiled(self) -> dict[str, int]:
        """How often Dask's profiler looked at tasks in the run, by prefix; it says so once a second."""
        found: Counter[str] = Counter()
        for line in self._lines["profile"]:
            if self.start < line["at"] <= self.stop:
                found.update(line["counts"])
        return dict(found)

    def functions(self) -> tuple[dict[str, int], dict[Pair, int]]:
        """How often a profiler of its own looked at tasks of a prefix, and saw a function in one of it."""
        samples: Counter[str] = Counter()
        seen: Counter[Pair] = Counter()
        for line in self._lines["stacks"]:
            if self._is_in(line["time"]):
                samples.update(line["samples"])
                for prefix, function, count in line["functions"]:
                    seen[prefix, function] += count
        return dict(samples), dict(seen)

    def _is_in(self, time: float) -> bool:
        return self.start <= time < self.stop


def _is_near(time: float, bin: int) -> bool:
    return bin * BIN - AROUND <= time < (bin + 1) * BIN + AROUND


def _greatest(bins: Mapping[int, Mapping[str, float]]) -> float:
    return max((sum(of.values()) for of in bins.values()), default=0.0)
