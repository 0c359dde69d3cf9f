"""The metrics that rules are made of: those that were seen, with what they mean, and ours."""

from __future__ import annotations

import pytest

from observatory.alerts.rules.known_metrics import known_metric, known_metrics, recent
from observatory.alerts.rules.units import unit_of_metric, unit_of_name
from observatory.alerts.silences.matchers import parse_matchers
from observatory.clusters.models import Cluster, MetricHelp, Project
from observatory.wire.metrics import METRICS, OBSERVATORY_METRICS, Metric
from observatory.wire.records import MetricType
from tests.alerts.conftest import Tell

COUNTER = MetricType.COUNTER
MEMORY = "observatory_worker_memory_bytes"


def test_observatory_metrics_are_known_before_any_cluster(db: None) -> None:
    names = [metric.name for metric in known_metrics()]
    assert names == sorted(OBSERVATORY_METRICS)
    assert all(metric.help and (metric.of_workers or metric.of_cluster) for metric in known_metrics())


def test_reported_metrics_are_known_with_labels_and_owner(cluster: Cluster, tell: Tell) -> None:
    tell("rows_read_total", 1, 2, worker="alice", kind=COUNTER, table="users")
    tell("rows_read_total", 1, 2, worker="bob", kind=COUNTER, table="orders")
    tell("queue_length", 3)
    MetricHelp.objects.create(name="queue_length", help="Things that wait.")
    known = {metric.name: metric for metric in known_metrics()}
    rows, queue = known["rows_read_total"], known["queue_length"]
    assert (rows.type, rows.of_workers, rows.of_cluster, rows.help) == (COUNTER, True, False, "")
    assert rows.labels == {"table": ("orders", "users"), "worker": ("alice", "bob")}
    assert (queue.of_workers, queue.of_cluster, queue.help) == (False, True, "Things that wait.")
    assert sorted(known) == list(known)
    assert known_metric("rows_read_total") == rows
    assert known_metric("no_such_metric") is None


def test_a_metric_can_belong_to_workers_and_to_the_scheduler(cluster: Cluster, tell: Tell) -> None:
    tell("process_open_fds", 3)
    for number in range(3):
        tell("process_open_fds", 3, worker=f"w{number}")
    known = known_metric("process_open_fds")
    assert known is not None
    assert known.of_workers
    assert known.of_cluster


def test_metrics_of_other_projects_are_not_listed(cluster: Cluster, tell: Tell) -> None:
    tell("queue_length", 3)
    other = Project.objects.create(name="Other", slug="other")
    assert "queue_length" in [metric.name for metric in known_metrics([cluster.project_id])]
    assert "queue_length" not in [metric.name for metric in known_metrics([other.pk])]


def test_dask_metrics_are_known_before_any_cluster(db: None) -> None:
    known = known_metric("dask_worker_spill_bytes_total")
    assert known is not None
    assert (known.type, known.unit, known.of_workers) == (COUNTER, "bytes", True)
    assert "disk_write" in known.labels["activity"]


def test_the_values_of_a_label_are_limited(cluster: Cluster, tell: Tell) -> None:
    for number in range(60):
        tell("rows_total", 1, table=f"table-{number:02}")
    known = known_metric("rows_total")
    assert known is not None
    assert len(known.labels["table"]) == 50


def test_recent_values_cover_the_last_hour(cluster: Cluster, tell: Tell) -> None:
    tell(MEMORY, 1, 3, start=0, step=3000, worker="alice", type="process")
    tell(MEMORY, 5, 5, start=0, step=3000, worker="bob", type="process")
    tell(MEMORY, 100, start=3000, worker="bob", type="spilled")
    found = recent(MEMORY, parse_matchers('type="process"'), [cluster.pk])
    assert [(bin.minimum, bin.mean, bin.maximum) for bin in found.bins] == [(1, 3, 5), (3, 4, 5)]
    assert (found.series, found.is_rate) == (2, False)
    only_bob = recent(MEMORY, parse_matchers('worker="bob", type="process"'), [cluster.pk])
    assert [bin.mean for bin in only_bob.bins] == [5, 5]
    assert len(recent(MEMORY, (), [cluster.pk], seconds=60).bins) == 1


def test_recent_values_of_a_counter_are_rates_without_resets(cluster: Cluster, tell: Tell) -> None:
    tell("rows_total", 100, 200, 5, 15, step=10, kind=COUNTER)
    found = recent("rows_total", (), [cluster.pk], seconds=60)
    assert found.is_rate
    assert [bin.mean for bin in found.bins] == [10, 1]


def test_without_series_there_are_no_recent_values(cluster: Cluster, tell: Tell) -> None:
    assert recent("rows_total", (), [cluster.pk]).bins == []
    assert recent("rows_total", (), []).bins == []


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("observatory_worker_memory_bytes", "bytes"),
        ("dask_worker_spill_bytes_total", "bytes"),
        ("observatory_worker_host_disk_bytes_per_second", "bytes/s"),
        ("observatory_worker_disk_ratio", "ratio"),
        ("observatory_worker_cpu_percent", "percent"),
        ("dask_worker_latency_seconds", "seconds"),
        ("dask_scheduler_clients", ""),
    ],
)
def test_units_of_metrics(name: str, unit: str) -> None:
    assert unit_of_metric(name) == unit


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_the_name_of_a_declared_metric_says_its_type_and_unit(metric: Metric) -> None:
    assert metric.name.endswith("_total") == (metric.type is COUNTER)
    assert unit_of_name(metric.name) == metric.unit
