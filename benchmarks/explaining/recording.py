"""Records a workload as a run of a cluster of its own, and reads what was found in it."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import dask
from distributed import Client, LocalCluster
from distributed.diagnostics.plugin import WorkerPlugin

import observatory.agent
from benchmarks.measuring.server import evaluated
from tests.browser.observatory import Observatory

OPTIONS = {"n_workers": 2, "threads_per_worker": 2}
"""of the clusters, where a scenario has no others"""
SETTLING = 3.0
"""seconds after a run, in which the agent sends its last records"""
FINDINGS = """
import json
from observatory.runs.models import Run
from observatory.runs.sharing.scopes import scope_of_run
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.thread_times.answer import thread_times
from observatory.why.findings.answer import findings
from observatory.why.critical_path.answer import critical_path
from observatory.why.reading import read_accounted
found = {}
for run in Run.objects.exclude(name="").filter(origin=Run.Origin.CODE):
    scope = scope_of_run(run)
    with read_connection() as connection:
        answer = findings(connection, scope, 0, MAXIMUM_TIME)
        times = thread_times(connection, scope, 0, MAXIMUM_TIME)
        path = critical_path(connection, scope, 0, MAXIMUM_TIME)
        window = [round(times[name] * 1e6) for name in ("start", "stop")]
        workers = read_accounted(connection, scope.cluster.pk, *window).workers
    lives = {one.id: one.threads * (one.stop - one.begun) / 1e6 for one in workers}
    kinds = {one["worker"]: sum(one["seconds"]) for one in times["workers"]}
    found[run.name] = {
        "findings": answer["findings"],
        "off": sum(abs(lives[id] - kinds.get(id, 0)) for id in lives) / sum(lives.values()),
        "path_off": abs(sum(one["seconds"] for one in path["kinds"]) / (path["stop"] - path["start"]) - 1),
    }
print(json.dumps(found))
"""


def read_answers(server: Observatory) -> dict[str, Any]:
    """By name of a run."""
    return dict(json.loads(evaluated(server, FINDINGS)))


def record(
    server: Observatory,
    token: str,
    name: str,
    work: Callable[[Client], None],
    options: Any,
    plugin: WorkerPlugin | None,
) -> float:
    """Run a workload on a cluster of its own as the run `name`; returns the seconds that it took."""
    with _cluster(options) as client:
        observatory.agent.register(client, url=server.url, token=token, name=name, flush_interval="1s")
        if plugin:
            client.register_plugin(plugin)
        client.gather(client.map(abs, range(100), key="warm"))
        time.sleep(1)
        seconds = 0.0
        with contextlib.suppress(Exception), observatory.run(name):
            # opening and ending the run takes seconds on a busy machine, which are none of the work
            start = time.monotonic()
            try:
                work(client)
            finally:
                seconds = time.monotonic() - start
        time.sleep(SETTLING)
        return seconds


@contextlib.contextmanager
def _cluster(options: Any) -> Iterator[Client]:
    config = {"distributed.scheduler.worker-ttl": None, "distributed.scheduler.allowed-failures": 1}
    with (
        dask.config.set(config),
        LocalCluster(
            **{**OPTIONS, **options}, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
