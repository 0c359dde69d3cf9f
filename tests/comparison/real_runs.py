"""Real runs of one workload, as the agent tells them: some with a prefix that is slower."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from distributed import Client, LocalCluster, wait

import observatory.agent
from benchmarks.runs.recording import receiving
from observatory.clusters.models import Cluster
from observatory.collect.agents.batch import batch_of
from observatory.runs.models import Run
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.batches import decode_batch

SECONDS = {"load": 0.024, "clean": 0.030, "join": 0.040, "store": 0.028}
"""how long a task of each prefix sleeps: what else the machine does can only add to it"""
TASKS = 60
"""of each prefix in a run"""
APART = 0.02
"""seconds between two runs"""


@dataclass
class Recording:
    """What a cluster told of runs, and when they were."""

    bodies: list[bytes] = field(default_factory=list)
    """of the agent's batches"""
    windows: list[tuple[float, float]] = field(default_factory=list)

    def store(self, cluster: Cluster) -> list[Run]:
        """Stores all that was told as the cluster's, and its runs."""
        with Writer() as writer:
            for body in self.bodies:
                batch, _ = batch_of(cluster.pk, *decode_batch(gzip.decompress(body)))
                writer.write(replace(batch, head=None))
        return [
            Run.objects.create(
                cluster=cluster,
                name="etl",
                origin=Run.Origin.CUT,
                outcome=Run.Outcome.FINISHED,
                start=from_seconds(start),
                stop=from_seconds(stop),
            )
            for start, stop in self.windows
        ]


def rest(seconds: float, number: int) -> int:
    time.sleep(seconds)
    return number


class Workload:
    def __init__(self, client: Client, recording: Recording) -> None:
        self._client = client
        self._recording = recording
        self._number = 0

    def run(self, factors: Mapping[str, float] = {}) -> None:
        """One run; `factors` says how many times as long the tasks of a prefix take."""
        self._number += 1
        start = time.time()
        futures = [
            self._client.submit(
                rest,
                seconds * factors.get(prefix, 1),
                number,
                key=f"{prefix}-{self._number:08x}{number:08x}",
                pure=False,
            )
            for number in range(TASKS)
            for prefix, seconds in SECONDS.items()
        ]
        wait(futures)
        self._recording.windows.append((start, time.time()))
        del futures
        time.sleep(APART)


@contextmanager
def recording() -> Iterator[tuple[Workload, Recording]]:
    """A cluster to run the workload on; when it is left, everything that it told is in the recording."""
    kept = Recording()
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=8,
        processes=False,
        silence_logs="CRITICAL",
        dashboard_address=None,
    )
    with receiving() as (url, bodies), cluster, Client(cluster) as client:
        observatory.agent.register(client, url=url, token="tests")
        workload = Workload(client, kept)
        workload.run()  # what is done the first time isn't compared
        kept.windows.clear()
        yield workload, kept
        observatory.agent.unregister(client)
        kept.bodies = bodies
