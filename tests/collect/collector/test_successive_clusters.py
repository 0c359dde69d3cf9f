"""Clusters that follow each other at one address in one process, as a notebook makes its LocalCluster."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from observatory.clusters.models import Cluster
from observatory.collect.collector.clusters.observation import Observation
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.watcher import Watcher
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.runs.models import Run
from observatory.runs.tasks import find_runs
from observatory.store.connection import read_connection
from observatory.store.keys import decode_key
from observatory.store.queries.timeline import snapshot
from observatory.store.times import to_microseconds
from tests.collect.dask_processes import free_port
from tests.collect.observer import eventually, observed, read

pytestmark = pytest.mark.usefixtures("store")

CLUSTERS = 4
THREADS = {"processes": False, "protocol": "tcp://"}
SAME_ADDRESS = {"scheduler_port": "a free port"}
CASES: dict[str, dict[str, Any]] = {
    "worker processes": {},
    "no prometheus_client": {**THREADS, "prometheus": False},
    "one event loop, in which a closed scheduler goes on answering": {**THREADS, "in_one_loop": True},
    "identity.json fails": {**THREADS, "has_identity": False, "gap": 0.5},
    "identity.json fails, the same address": {**THREADS, **SAME_ADDRESS, "has_identity": False, "gap": 3.0},
}


def options(**case: Any) -> dict[str, Any]:
    values = {
        "clusters": CLUSTERS,
        "gap": 0.1,
        "prometheus": True,
        "in_one_loop": False,
        "has_identity": True,
        "last_task_fails": False,
        "n_workers": 2,
        "threads_per_worker": 2,
        **case,
    }
    return values | ({"scheduler_port": free_port()} if "scheduler_port" in case else {})


async def make_clusters(watcher: Watcher, folder: Path, chosen: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Runs the program. Returns the lines that each cluster's own recorder wrote."""
    command = ["-W", "ignore", "-m", "tests.collect.successive_clusters", str(folder), json.dumps(chosen)]
    program = await asyncio.create_subprocess_exec(sys.executable, *command)
    previous = None
    try:
        for number in range(CLUSTERS):
            previous = await eventually(lambda seen=previous: is_received(watcher, seen))
            (folder / f"{number}.observed").touch()
        assert await program.wait() == 0
    finally:
        if program.returncode is None:
            program.kill()
    files = [folder / f"{number}.jsonl" for number in range(CLUSTERS)]
    return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]


async def is_received(watcher: Watcher, previous: Observation | None) -> Observation | None:
    """The observation that follows the previous one, once the stream of its cluster is received."""
    current = watcher.observation
    if current is None or current is previous or current.beginning is None:
        return None
    return current if current.beginning.received is not None else None


async def recorded_spans(cluster: int) -> set[tuple[str, str]]:
    """(key, worker) of what a cluster's tasks computed."""
    found = await read(
        """SELECT key_rest, task_group.name, address
           FROM span JOIN lane ON lane.id = lane_id JOIN worker ON worker.id = lane.worker_id
           JOIN task_group ON task_group.id = group_id WHERE span.cluster_id = %s AND action = 0""",
        cluster,
    )
    return {(decode_key(rest, group), address) for rest, group, address in found}


def progress_at_end(cluster: Cluster) -> dict[str, tuple[int, int | None, int | None]]:
    """(done, erred, total) of each prefix when the cluster ended, as its page shows them."""
    assert cluster.ended is not None
    with read_connection() as connection, snapshot(connection):
        state = state_at(connection, Scope(cluster), to_microseconds(cluster.ended))
    return {row["name"]: (row["done"], row["erred"], row["total"]) for row in state["progress"]}


def of_kind(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] == kind]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_each_of_four_clusters_in_turn_has_its_own_workers_tasks_and_end(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    port = free_port()
    async with observed(f"http://127.0.0.1:{port}") as watcher:
        chosen = options(**case, dashboard_address=f":{port}")
        real = await make_clusters(watcher, tmp_path, chosen)
        await eventually(lambda: asyncio.sleep(0, watcher.observation is None and not watcher.outbox.length))
        await watcher.flusher.flush()
    clusters = await run_in_django_thread(lambda: list(Cluster.objects.order_by("started")))
    assert len(clusters) == CLUSTERS
    if chosen["has_identity"]:
        assert [cluster.scheduler_id for cluster in clusters] == [lines[0]["id"] for lines in real]
    previous_end = 0.0
    for cluster, lines in zip(clusters, real, strict=True):
        workers = {
            address
            for (address,) in await read("SELECT address FROM worker WHERE cluster_id = %s", cluster.pk)
        }
        assert workers == {line["address"] for line in of_kind(lines, "worker")}
        computed = {
            (line["key"], line["worker"]): line["stop"]
            for line in of_kind(lines, "span")
            if line["action"] == "compute"
        }
        assert await recorded_spans(cluster.pk) == computed.keys()
        assert cluster.ended is not None
        assert max(computed.values()) < cluster.ended.timestamp()
        progress = await run_in_django_thread(progress_at_end, cluster)
        assert progress.keys() == {"inc"}
        done, _, total = progress["inc"]
        # without prometheus_client only the number of all unfinished tasks is known
        assert (done, total) == (len(computed), len(computed) if chosen["prometheus"] else total)
        # a closed scheduler's last metrics may come after its successor's start, but before that is observed
        began = min(computed.values()) if chosen["in_one_loop"] else cluster.started.timestamp()
        assert previous_end <= began
        previous_end = cluster.ended.timestamp()


@pytest.mark.parametrize("has_metrics", [True, False], ids=["prometheus_client", "no prometheus_client"])
async def test_no_run_whose_last_task_failed_just_before_its_cluster_closed_is_said_to_have_succeeded(
    tmp_path: Path, has_metrics: bool
) -> None:
    port = free_port()
    async with observed(f"http://127.0.0.1:{port}") as watcher:
        case = {**THREADS, "prometheus": has_metrics, "last_task_fails": True}
        await make_clusters(watcher, tmp_path, options(**case, dashboard_address=f":{port}"))
        await eventually(lambda: asyncio.sleep(0, watcher.observation is None and not watcher.outbox.length))
        await watcher.flusher.flush()
    await run_in_django_thread(find_runs)
    outcomes = await run_in_django_thread(lambda: list(Run.objects.values_list("outcome", flat=True)))
    assert len(outcomes) == CLUSTERS
    assert set(outcomes) <= {Run.Outcome.ERRED, Run.Outcome.UNSEEN, Run.Outcome.LOST}
