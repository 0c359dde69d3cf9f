"""What workers reported at a time beside the state, and what one of them ran."""

from __future__ import annotations

import psycopg

from observatory.clusters.models import Cluster
from observatory.replay.playhead_schemas import RunningSpan, WorkerFigures
from observatory.replay.scope import Scope
from observatory.replay.worker_figures import running_on, worker_figures
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Sample, Series
from tests.replay.records import A, B, fill
from tests.support.response_schemas import assert_documented


def microseconds(seconds: float) -> int:
    return round(seconds * 1e6)


def test_figures_are_the_last_ones_before_that_time_and_a_link_has_none_from_before_its_window(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    fill(writer, cluster, now)
    network = "observatory_worker_host_network_bytes_per_second"
    read, write = (Series(network, (("direction", direction),), A) for direction in ("read", "write"))
    descriptors = Series("observatory_worker_file_descriptors", (), B)
    samples = [Sample(read, now + 1, 10.0), Sample(read, now + 5, 20.0), Sample(write, now + 1, 3.0)]
    writer.write(Batch.of(cluster.pk, samples=[*samples, Sample(descriptors, now + 2, 7.0)]))
    ids = dict(
        direct.execute("SELECT address, id FROM worker WHERE cluster_id = %s", [cluster.pk]).fetchall()
    )

    def figures(scope: Scope, at: float) -> dict[int, tuple[float | None, ...]]:
        found = worker_figures(direct, scope, microseconds(at))
        for one in found:
            assert_documented(WorkerFigures, one)
        names = ("network_read", "network_write", "descriptors", "gpu_memory")
        return {one["id"]: tuple(one[name] for name in names) for one in found}

    whole = Scope(cluster)
    assert figures(whole, now + 4) == {ids[A]: (10, 3, None, None), ids[B]: (None, None, 7, None)}
    assert figures(whole, now + 6)[ids[A]] == (20, 3, None, None)
    public = Scope(cluster, microseconds(now + 3), microseconds(now + 9), is_public=True)
    assert figures(public, now + 6) == {ids[A]: (20, None, None, None)}


def test_a_worker_with_several_gpus_has_one_figure_of_all(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    fill(writer, cluster, now)

    def of(metric: str, gpu: int, kind: str = "") -> Series:
        labels = [("device", f"GPU-{gpu}"), ("gpu", str(gpu)), ("model", "NVIDIA H100 80GB HBM3")]
        return Series(f"observatory_worker_gpu_{metric}", (*labels, *([("type", kind)] if kind else [])), A)

    samples = []
    for gpu, (used, busy, watts, celsius) in enumerate([(3.0, 80.0, 250.0, 61.0), (5.0, 20.0, 90.0, 48.0)]):
        samples += [
            Sample(of("memory_bytes", gpu, "used"), now + 1, used),
            Sample(of("memory_bytes", gpu, "total"), now + 1, 10.0),
            Sample(of("utilization_percent", gpu), now + 1, busy),
            Sample(of("power_watts", gpu, "used"), now + 1, watts),
            Sample(of("power_watts", gpu, "limit"), now + 1, 700.0),
            Sample(of("temperature_celsius", gpu), now + 1, celsius),
        ]
    writer.write(Batch.of(cluster.pk, samples=samples))
    [found] = worker_figures(direct, Scope(cluster), microseconds(now + 2))
    assert_documented(WorkerFigures, found)
    figures = {name: value for name, value in found.items() if name.startswith("gpu")}
    assert figures == {
        "gpu_memory": 8,
        "gpu_limit": 20,
        "gpu_utilization": 50,
        "gpu_power": 340,
        "gpu_temperature": 61,
    }


def test_what_a_worker_ran_is_that_of_its_threads_within_the_window(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    fill(writer, cluster, now)
    ids = dict(
        direct.execute("SELECT address, id FROM worker WHERE cluster_id = %s", [cluster.pk]).fetchall()
    )
    found = running_on(direct, Scope(cluster), ids[A], microseconds(now + 4))
    assert [(one["key"], one["action"]) for one in found] == [("inc-2", "compute")]
    assert_documented(RunningSpan, found[0])
    window = Scope(cluster, microseconds(now + 3), microseconds(now + 5), is_public=True)
    [clipped] = running_on(direct, window, ids[A], microseconds(now + 4))
    assert (clipped["start"], clipped["stop"]) == (now + 3, now + 5)
    assert running_on(direct, window, ids[A], microseconds(now + 6)) == []
    assert running_on(direct, Scope(cluster), 0, microseconds(now + 4)) == []
