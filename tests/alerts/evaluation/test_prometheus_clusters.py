"""Rules on clusters that only a Prometheus reaches: its samples fire and resolve alerts, at their times."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.core.cache import cache
from django.test import Client

from observatory.alerts.evaluation.evaluator import clusters_to_evaluate, evaluate
from observatory.alerts.models import Alert, Channel, Rule
from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_tokens
from observatory.collect.tasks import end_silent
from observatory.store.connection import read_connection
from observatory.store.maintenance.retention import delete_cluster
from tests.alerts.evaluation.conftest import alerts, at, channel, make_rule, notified
from tests.support.prometheus import PROTOBUF, WRITE, write_request

__all__ = ["channel"]

START = at(0).timestamp()
INTERVAL = 15
"""seconds of Prometheus between two scrapes"""
SCHEDULER = {"job": "dask", "cluster": "etl", "instance": "10.0.0.1:8787"}
WORKER = {"job": "dask-workers", "cluster": "etl", "instance": "10.0.0.2:4001", "pod": "worker-0"}
Scrape = Callable[..., None]


@pytest.fixture
def scrape(transactional_db: None) -> Iterator[Scrape]:
    """Writes what a Prometheus scraped at a number of seconds, and evaluates the rules then."""
    cache.clear()
    Rule.objects.all().delete()
    project = Project.objects.create(name="Team", slug="team", retention_days=3650)
    secret = ingest_tokens.make(project, "prometheus", None)[1]
    headers = {"Content-Encoding": "snappy", "Authorization": f"Bearer {secret}"}

    def scrape(seconds: float, erred: float = 0, memory: float = 1e9) -> None:
        time = START + seconds
        body = write_request(
            ({"__name__": "dask_scheduler_tasks", "state": "erred", **SCHEDULER}, [(time, erred)]),
            ({"__name__": "dask_worker_threads", **WORKER}, [(time, 4.0)]),
            ({"__name__": "dask_worker_memory_bytes", "type": "managed", **WORKER}, [(time, memory)]),
        )
        path = f"{WRITE}?interval={INTERVAL}"
        assert Client().post(path, body, content_type=PROTOBUF, headers=headers).status_code == 204
        Cluster.objects.filter(project=project).update(agent_heard=at(seconds))
        evaluate_at(seconds)

    yield scrape
    for cluster in Cluster.objects.filter(project=project):
        delete_cluster(cluster.pk)


def evaluate_at(seconds: float) -> None:
    now = START + seconds
    with read_connection() as connection:
        evaluate(connection, list(clusters_to_evaluate(now)), now)


def erred_rule() -> Rule:
    metric = {"kind": "metric", "metric": "dask_scheduler_tasks", "labels": 'state="erred"'}
    return make_rule("erred", {**metric, "by": "cluster", "comparison": ">", "threshold": 0}, hold_seconds=30)


def test_an_alert_fires_and_is_resolved_at_the_times_of_the_samples(scrape: Scrape, channel: Channel) -> None:
    erred_rule()
    for place in range(4):
        scrape(place * INTERVAL)
    assert alerts() == []
    for place in range(4, 12):
        scrape(place * INTERVAL, erred=3)
    assert alerts() == [("erred", "firing", 60, 90, None)]
    assert notified() == [("erred", "firing")]
    for place in range(12, 18):
        scrape(place * INTERVAL)
    assert alerts() == [("erred", "resolved", 60, 90, 180)]
    assert notified() == [("erred", "firing"), ("erred", "resolved")]
    assert Alert.objects.get().cluster.name == "etl"


def test_a_value_between_two_scrapes_goes_on_and_ends_after_three_that_are_missing(scrape: Scrape) -> None:
    erred_rule()
    for place in range(8):
        scrape(place * INTERVAL, erred=3)
    assert alerts() == [("erred", "firing", 0, 30, None)]
    evaluate_at(7 * INTERVAL + 2.5 * INTERVAL)
    assert [state for _, state, *_ in alerts()] == ["firing"], "the next scrape may be late"
    evaluate_at(7 * INTERVAL + 20 * INTERVAL)
    [(_, state, _, _, resolved)] = alerts()
    assert (state, resolved) == ("resolved", 7 * INTERVAL + 3 * INTERVAL)


def test_metrics_of_the_charts_are_derived_and_name_the_worker(scrape: Scrape) -> None:
    metric = {"kind": "metric", "metric": "observatory_worker_memory_bytes", "labels": 'type="managed"'}
    make_rule("managed", {**metric, "by": "worker", "comparison": ">", "threshold": 5e9})
    for place in range(6):
        scrape(place * INTERVAL, memory=8e9)
    alert = Alert.objects.get()
    assert alert.labels == {"worker": "worker-0"}
    assert alert.value == 8e9


def test_alerts_end_with_the_cluster_that_went_silent(scrape: Scrape) -> None:
    erred_rule()
    for place in range(8):
        scrape(place * INTERVAL, erred=3)
    end_silent()
    assert Cluster.objects.get(name="etl").ended is not None
    evaluate_at(1000)
    assert [state for _, state, *_ in alerts()] == ["resolved"]
