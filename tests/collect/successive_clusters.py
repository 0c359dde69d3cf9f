"""A program that makes one LocalCluster after another, as a notebook does, and records each independently.

Each cluster works once FOLDER/NUMBER.observed exists, and closes at once.

python -m tests.collect.successive_clusters FOLDER '{"dashboard_address": ":8787", …}'
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

TASKS = 40


def main(folder: Path, options: dict[str, Any]) -> None:
    clusters, gap = options.pop("clusters"), options.pop("gap")
    in_one_loop, has_identity = options.pop("in_one_loop"), options.pop("has_identity")
    last_task_fails = options.pop("last_task_fails")
    if not options.pop("prometheus"):
        sys.modules["prometheus_client"] = None  # type: ignore[assignment]
    from distributed import Client, LocalCluster, SchedulerPlugin
    from distributed.http.scheduler.json import IdentityJSON

    if not has_identity:
        IdentityJSON.get = lambda self: self.send_error(500)

    class Recorder(SchedulerPlugin):  # type: ignore[misc]
        """Writes workers and finished tasks as lines of JSON."""

        def __init__(self, path: Path) -> None:
            self.file = path.open("w", buffering=1)

        def write(self, **values: Any) -> None:
            self.file.write(json.dumps({"time": time.time(), **values}) + "\n")

        def add_worker(self, scheduler: Any, worker: str) -> None:
            self.write(kind="worker", address=worker)

        def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
            for action in kwargs.get("startstops") or ():
                self.write(kind="span", key=str(key), worker=kwargs["worker"], **action)

        async def close(self) -> None:
            self.write(kind="end")

    async def work(scheduler: Any, client: Any, number: int) -> None:
        recorder = Recorder(folder / f"{number}.jsonl")
        scheduler.add_plugin(recorder)
        recorder.write(kind="start", id=scheduler.id, started=scheduler.time_started)
        for address in scheduler.workers:
            recorder.add_worker(scheduler, address)
        while not (folder / f"{number}.observed").exists():
            await asyncio.sleep(0.05)
        for part in range(4):
            keys = [f"inc-{number}-{part}-{each}" for each in range(TASKS // 4)]
            await client.gather(client.map(pause, range(TASKS // 4), key=keys), asynchronous=True)
        if last_task_fails:
            await client.submit(fail, key=f"fail-{number}").exception()

    async def make_in_one_loop() -> None:
        for number in range(clusters):
            async with (
                LocalCluster(**options, asynchronous=True) as cluster,
                Client(cluster, asynchronous=True) as client,
            ):
                await work(cluster.scheduler, client, number)
            await asyncio.sleep(gap)

    if in_one_loop:
        asyncio.run(make_in_one_loop())
        return
    for number in range(clusters):
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            client.sync(work, cluster.scheduler, client, number)
        time.sleep(gap)


def fail() -> None:
    raise ValueError("the last task fails")


def pause(_: int) -> None:
    time.sleep(0.05)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
