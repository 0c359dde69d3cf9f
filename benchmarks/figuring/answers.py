"""What pages show of the runs: the answers of the API, and its tiles summed as the pages do.

Runs in the server's `manage.py shell`, once its runs were found.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from observatory.replay.api import MAXIMUM_STACKS
from observatory.replay.tiles.levels import BINS, MAXIMUM_LEVEL, MINIMUM_LEVEL, TileId
from observatory.runs.models import Run
from observatory.wire.blocks import Block, decode

INSTANTS = 5
"""of a run, at which progress and memory are compared"""
SAMPLED = {"gil": "observatory_worker_gil_contention_ratio", "cpu": "observatory_worker_cpu_percent"}
"""metrics by the layer that draws them"""
TASK = 0
"""the source of profiles of tasks"""
Answer = dict[str, Any]


def answers_of_runs() -> Answer:
    """Those of each run that code opened, by its name."""
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.get_or_create(username="figures", is_superuser=True)[0])
    return {run.name: _Run(client, run).answers() for run in Run.objects.filter(origin="code")}


class _Run:
    def __init__(self, client: Client, run: Run) -> None:
        assert run.stop is not None
        self._client, self._run, self._base = client, run, f"/api/v1/runs/{run.pk}"
        self.start, self.stop = run.start.timestamp(), run.stop.timestamp()

    def answers(self) -> Answer:
        length = self.stop - self.start
        times = [self.start + length * (number + 1) / INSTANTS for number in range(INSTANTS)]
        names = ("lanes", "prefixes", "transfers")
        timeline = {name: self._answer(f"/timeline/{name}") for name in names}
        return {
            "start": self.start,
            "stop": self.stop,
            "card": self._answer("/card"),
            "errors": self._run.errors,
            **timeline,
            "states": [self._answer(f"/timeline/state?at={time}") for time in times],
            "drawn": {
                layer: list(self._drawn(layer, metric, timeline["lanes"]))
                for layer, metric in SAMPLED.items()
            },
            "profile": self._profile(timeline["lanes"]),
        }

    def _drawn(self, layer: str, metric: str, lanes: Answer) -> Iterator[tuple[str, float, float]]:
        """Yield address of the worker, time and value of each sample of the run."""
        addresses = {worker["id"]: worker["address"] for worker in lanes["workers"]}
        of = {
            series: addresses[worker]
            for one in lanes["series"].get(layer, ())
            if one["metric"] == metric
            for series, worker in zip(one["ids"], one["workers"], strict=True)
        }
        for row in self._rows(layer, "bin"):
            if row["series"] in of and self.start <= row["time"] < self.stop:
                yield of[row["series"]], row["time"], row["last"]

    def _profile(self, lanes: Answer) -> Answer:
        """Samples of tasks by prefix, and how many of them were in each function."""
        names = {prefix["id"]: prefix["name"] for prefix in lanes["prefixes"]}
        rows = [
            row
            for row in self._rows("profile", "profile")
            if row["source"] == TASK and self.start < row["time"] <= self.stop
        ]
        stacks = self._stacks(sorted({row["stack"] for row in rows}))
        samples: Counter[str] = Counter()
        functions: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for row in rows:
            prefix, count = names[row["prefix"]], row["count"]
            samples[prefix] += count
            for function in {line.split("\t")[0] for line in stacks[row["stack"]].split("\n")}:
                functions[prefix][function] += count
        return {name: {"samples": samples[name], "functions": functions[name]} for name in samples}

    def _stacks(self, ids: list[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        for first in range(0, len(ids), MAXIMUM_STACKS):
            wanted = ",".join(map(str, ids[first : first + MAXIMUM_STACKS]))
            for block in self._blocks(f"/timeline/stacks?ids={wanted}"):
                found.update(zip(block.list("id"), block.list("frames"), strict=True))
        return found

    def _rows(self, layer: str, kind: str) -> Iterator[Answer]:
        """Yield the rows of the tiles that cover the run."""
        levels = range(MINIMUM_LEVEL, MAXIMUM_LEVEL + 1)
        level = next(one for one in levels if (BINS << one) / 1e6 >= self.stop - self.start)
        first, last = (TileId.at(level, int(time * 1e6)).index for time in (self.start, self.stop))
        for index in range(first, last + 1):
            for block in self._blocks(f"/timeline/tiles/{layer}/{level}/{index}"):
                if block.kind == kind:
                    columns = [block.list(name) for name in block.columns]
                    yield from (
                        dict(zip(block.columns, row, strict=True)) for row in zip(*columns, strict=True)
                    )

    def _blocks(self, path: str) -> Iterator[Block]:
        return decode(self._client.get(self._base + path).content)

    def _answer(self, path: str) -> Any:
        return self._client.get(self._base + path).json()
