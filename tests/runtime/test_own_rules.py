"""Observatory's own metrics are recorded and have rules like any other, which only superusers see."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from observatory.alerts.evaluation import health
from observatory.alerts.evaluation.evaluator import clusters_to_evaluate, evaluate
from observatory.alerts.models import Alert, Channel, Condition, Delivery, Rule
from observatory.alerts.rules.ready_made import make
from observatory.alerts.rules.validation import problems
from observatory.base import redis_server
from observatory.base.redis_server import RedisServer
from observatory.clusters.access import visible_clusters, visible_projects
from observatory.clusters.accounts.models import Membership
from observatory.clusters.live.own_cluster import INTERVAL, own_cluster
from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_refusals, ingest_tokens
from observatory.clusters.tokens.models import IngestRefusal
from observatory.collect.collector.clusters.registry import end_abandoned
from observatory.runtime.health import checks
from observatory.runtime.health.own_recording import own_metrics, record_own_metrics
from observatory.store.connection import connect, read_connection
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import Sample, Series
from tests.alerts.evaluation.conftest import LONG_AGO, make_rule

GIB = 2**30
START = 1_780_000_000.0
FREE = "observatory_disk_free_bytes"
LOW = {"kind": "metric", "metric": FREE, "by": "cluster", "comparison": "<", "threshold": GIB}


@dataclass
class Installation:
    cluster: Cluster

    def tell(self, free: dict[float, float]) -> None:
        """Free GiB by seconds after START."""
        samples = [Sample(Series(FREE), START + after, value * GIB) for after, value in free.items()]
        with Writer() as writer:
            writer.write(Batch.of(self.cluster.pk, samples=samples, committed=START + max(free)))

    def evaluate(self, after: float) -> None:
        with read_connection() as connection:
            evaluate(connection, list(clusters_to_evaluate(START + after)), START + after)


@pytest.fixture
def own(transactional_db: None) -> Iterator[Installation]:
    Rule.objects.all().delete()
    ingest_refusals._recorded.clear()
    yield Installation(own_cluster())
    for cluster in Cluster.objects.all():
        delete_cluster(cluster.pk)


def recorded() -> dict[str, float]:
    with connect() as connection:
        rows = connection.execute(
            """SELECT DISTINCT ON (series.id) metric, value FROM sample JOIN series ON series.id = series_id
               WHERE series.cluster_id = %s ORDER BY series.id, time DESC""",
            [own_cluster().pk],
        )
        return dict(rows.fetchall())


def firing() -> list[tuple[str, str, float]]:
    """(rule, cluster, seconds after START)"""
    found = Alert.objects.filter(fired__isnull=False).order_by("fired")
    return [(alert.rule.key, alert.cluster.name, _after(alert)) for alert in found]


def _after(alert: Alert) -> float:
    assert alert.fired is not None
    return round(alert.fired.timestamp() - START, 6)


def test_the_installations_metrics_are_recorded(own: Installation) -> None:
    with redis_server.connect() as client:
        client.delete("celery", "alerts", "observatory:beat")
        client.rpush("celery", "one", "two")
        client.set("observatory:beat", str(time.time() - 40))
        record_own_metrics()
        client.delete("celery", "observatory:beat")
    found = recorded()
    assert found.keys() == {FREE, "observatory_celery_queue_length", "observatory_celery_beat_age_seconds"}
    assert found[FREE] == pytest.approx(shutil.disk_usage(settings.DATA_DIR).free, rel=0.1)
    assert found["observatory_celery_queue_length"] == 2
    assert found["observatory_celery_beat_age_seconds"] == pytest.approx(40, abs=20)


def test_a_database_of_an_older_version_gets_the_interval_of_this_one(own: Installation) -> None:
    Cluster.objects.filter(pk=own.cluster.pk).update(identity_interval=10.0, metrics_interval=10.0)
    record_own_metrics()
    cluster = own_cluster()
    assert (cluster.identity_interval, cluster.metrics_interval) == (INTERVAL, INTERVAL)
    assert settings.CELERY_BEAT_SCHEDULE["record-own-metrics"]["schedule"] == INTERVAL


def test_it_is_evaluated_once_for_each_of_its_samples_and_is_not_late_meanwhile(
    own: Installation,
) -> None:
    evaluated: list[int] = []
    lags: list[float] = []
    own.tell({0: 8.0})
    for after in range(10, 610, 10):
        if after % INTERVAL == 0:
            own.tell({after: 8.0})
        if clusters_to_evaluate(START + after).exists():
            evaluated.append(after)
            own.evaluate(after)
        if evaluated:
            lags.append(health.lag(START + after))
    assert 15 <= len(evaluated) <= 600 / INTERVAL + 1
    assert max(lags) < 30, "a fault, in the checks of Observatory itself"


def test_what_cannot_be_read_is_left_out(
    own: Installation, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS = RedisServer("redis://127.0.0.1:1/0")
    settings.DATA_DIR = "/nothing/of/the/kind"
    assert list(own_metrics()) == []


def test_the_disk_s_rule_fires_when_less_than_5_gib_are_free_for_a_minute(own: Installation) -> None:
    make()
    Rule.objects.update(changed=LONG_AGO)
    Channel.objects.create(name="everybody", secret="")
    free = {after: 8.0 - after / 100 for after in range(0, 500, 10)}
    own.tell(free)
    own.evaluate(520)
    # computed apart from the code: the first sample below 5 GiB, and a minute of such samples
    below = min(after for after, value in free.items() if value < 5)
    assert firing() == [("disk-filling", "Observatory", below + 60)]
    assert Delivery.objects.count() == 1
    alert = Alert.objects.get(fired__isnull=False)
    assert alert.message.endswith("GiB are free on the disk of Observatory's data folder")


def test_a_firing_alert_outlasts_a_restart_of_observatory(own: Installation) -> None:
    make()
    Rule.objects.update(changed=LONG_AGO)
    own.tell(dict.fromkeys(range(0, 100, 10), 4.0))
    own.evaluate(120)
    own.tell(dict.fromkeys(range(400, 500, 10), 4.0))
    own.evaluate(520)
    assert len(firing()) == 1
    assert Alert.objects.get().state == "firing"
    own.tell(dict.fromkeys(range(500, 520, 10), 7.0))
    own.evaluate(570)
    assert Alert.objects.get().state == "resolved"


def test_rules_on_clusters_do_not_apply_to_observatory_nor_its_rules_to_clusters(own: Installation) -> None:
    project = Project.objects.create(name="Team", slug="team")
    began = datetime.fromtimestamp(START, UTC)
    fields = {"name": "etl", "scheduler_id": "Observatory", "started": began, "last_seen": began}
    etl = Cluster.objects.create(project=project, agent_heard=began, **fields)
    Cluster.objects.filter(pk=own.cluster.pk).update(started=began)
    missing = {"metric": "observatory_cluster_workers", "comparison": "absent"}
    make_rule("no workers", {"kind": "metric", "by": "cluster", **missing}, key="missing")
    rule = make_rule("no space", LOW, key="space")
    rule.projects.add(project)  # has no meaning for a rule on Observatory itself
    own.tell(dict.fromkeys(range(0, 100, 10), 0.5))
    with Writer() as writer:
        samples = [Sample(Series(FREE), START + after, 1.0) for after in range(100)]
        writer.write(Batch.of(etl.pk, samples=samples, committed=START + 100))
    Cluster.objects.filter(pk=etl.pk).update(agent_heard=datetime.fromtimestamp(START + 100, UTC))
    own.evaluate(110)
    assert sorted((key, cluster) for key, cluster, _ in firing()) == [
        ("missing", "etl"),
        ("space", "Observatory"),
    ]


def test_only_superusers_see_observatory_s_alerts_and_no_list_has_its_cluster(own: Installation) -> None:
    team = Project.objects.create(name="Team", slug="team")
    member, superuser = User.objects.create_user("member"), User.objects.create_superuser("root")
    for project in (team, own.cluster.project):
        Membership.objects.create(project=project, user=member, role="owner")
    make_rule("no space", LOW)
    own.tell(dict.fromkeys(range(0, 100, 10), 0.5))
    own.evaluate(110)
    alert = Alert.objects.get()
    statuses = {}
    for user in (member, superuser):
        assert list(visible_projects(user)) == [team]
        assert not visible_clusters(user).exists()
        client = Client()
        client.force_login(user)
        assert client.get("/api/v1/clusters").json()["count"] == 0
        assert "Observatory itself" not in client.get("/projects/").content.decode()
        paths = (f"/api/v1/alerts/{alert.pk}", f"/alerts/{alert.pk}/", f"/clusters/{own.cluster.pk}/")
        statuses[user.username] = [client.get(path, follow=True).status_code for path in paths]
        found = client.get("/api/v1/alerts").json()["count"]
        assert found == (1 if user is superuser else 0)
    assert statuses == {"member": [404] * 3, "root": [200] * 3}
    client = Client()
    client.force_login(superuser)
    assert 'data-label="where">Observatory itself' in client.get("/admin/alerts/rule/").content.decode()
    timeline = client.get(f"/clusters/{own.cluster.pk}/")
    assert timeline["Location"] == "/alerts/", "it has no workers and no tasks to show"
    answer = client.post(f"/api/v1/alerts/{alert.pk}/acknowledge", {"note": ""}, "application/json")
    assert answer.status_code == 200


def test_the_own_project_is_made_once_beside_others_of_its_name(own: Installation) -> None:
    assert own_cluster() == own.cluster
    delete_cluster(own.cluster.pk)
    own.cluster.project.delete()
    Project.objects.create(name="Observatory itself", slug="observatory-itself")
    again = own_cluster()
    assert (again.project.name, again.project.slug) == ("Observatory itself 1", "observatory-itself-1")
    assert Project.objects.filter(is_own=True).count() == 1


def test_it_is_neither_ended_nor_the_project_that_commands_choose(own: Installation) -> None:
    end_abandoned()
    own.cluster.refresh_from_db()
    assert own.cluster.ended is None
    with pytest.raises(CommandError, match="there are: none"):
        call_command("import", "/nothing")
    with pytest.raises(CommandError, match="there are: none"):
        call_command("ingest_token", own.cluster.project.slug)


def test_refused_agents_are_recorded_unless_a_silent_cluster_explains_it(own: Installation) -> None:
    team = Project.objects.create(name="Team", slug="team")
    token, _ = ingest_tokens.make(team, "nightly", None)
    ingest_refusals.record(IngestRefusal.Reason.UNKNOWN, "unknown", "10.0.0.1", None)
    ingest_refusals.record(IngestRefusal.Reason.REVOKED, "revoked", "10.0.0.2", token)
    unknown = {"reason": "unknown-token", "project": "", "token": ""}
    revoked = {"reason": "revoked-token", "project": "team", "token": "nightly"}
    assert refused() == [revoked, unknown]
    now = timezone.now()
    fields = {"name": "etl", "scheduler_id": "Scheduler-1", "started": now, "last_seen": now}
    silent = Cluster.objects.create(project=team, agent_silent=now, **fields)
    assert refused() == [unknown]
    silent.ended = now
    silent.save()
    assert refused() == [revoked, unknown]
    IngestRefusal.objects.update(last=now - timedelta(minutes=6))
    assert refused() == []


def refused() -> list[dict[str, str]]:
    found = [dict(series.labels) for series, _ in own_metrics() if series.metric.endswith("refused_agents")]
    return sorted(found, key=lambda labels: labels["reason"])


def test_the_alert_observatory_itself_is_of_what_rules_depend_on(
    own: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "MINIMUM_DISK", 2**62)
    for name in ("collector", "celery"):
        monkeypatch.setattr(checks, name, lambda: checks.CheckResult("it", True, ""))
    assert checks.own_faults() == []
    assert not checks.disk().ok  # the doctor still says so
    own.tell({0.0: 9.0})
    [fault] = checks.own_faults()
    assert (fault.component, fault.ok) == ("alerts", False)
    assert "behind the recorded data" in fault.text


def test_a_rule_is_on_observatory_or_on_clusters(own: Installation) -> None:
    conditions = [
        Condition(metric=FREE, by="cluster", comparison="<", threshold=1),
        Condition(metric="observatory_cluster_workers", by="cluster", labels='state="total"', threshold=1),
    ]
    [problem] = problems(Rule(name="both"), conditions)
    assert (problem.condition_index, problem.field) == (1, "metric")
    assert problems(Rule(name="one"), conditions[:1]) == []
