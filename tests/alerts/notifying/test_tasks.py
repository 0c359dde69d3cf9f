from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils.timezone import now

from observatory.alerts import tasks
from observatory.alerts.evaluation.evaluator import clusters_to_evaluate
from observatory.alerts.models import Alert, Delivery, Progress
from observatory.alerts.notifying.tasks import deliver, repeat
from observatory.alerts.tasks import FOLLOWING, ROUND, SHARDS, evaluate_shard, start_round
from observatory.clusters.models import Cluster
from observatory.config.celery import app
from tests.alerts.notifying.conftest import Fire, make_channel
from tests.alerts.notifying.receivers import Receiver


@pytest.fixture
def eager() -> Iterator[None]:
    """Tasks are done where they are asked for."""
    app.conf.task_always_eager = True
    yield
    app.conf.task_always_eager = False


def test_every_scheduled_task_exists() -> None:
    app.loader.import_default_modules()
    assert {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()} <= set(app.tasks)


def test_a_round_starts_the_shards_that_have_clusters_and_deliveries(
    webhook: Receiver, fire: Fire, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards: list[int] = []
    monkeypatch.setattr(evaluate_shard, "run", shards.append)
    make_channel("a", webhook.url, kind="webhook")
    alert = fire()
    start_round()
    assert alert.cluster_id % SHARDS in shards
    assert set(shards) <= {key % SHARDS for key in Cluster.objects.values_list("pk", flat=True)}
    assert all(type(shard) is int for shard in shards)
    assert len(webhook.bodies) == 1


def rounds_after(is_live: bool, fire: Fire, monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    fire()
    if not is_live:
        Cluster.objects.update(ended=now() - timedelta(days=2))
        Progress.objects.update(is_over=True)
    sent: list[tuple[object, ...]] = []
    for task in (start_round, evaluate_shard):
        monkeypatch.setattr(
            task, "apply_async", lambda arguments, task=task, **options: sent.append((task, *arguments))
        )
    start_round(2)
    start_round(0)
    return [one for one in sent if one[0] is start_round]


def test_while_a_cluster_is_live_rounds_follow_until_the_next_scheduled_one(
    fire: Fire, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rounds_after(True, fire, monkeypatch) == [(start_round, 1)]


@pytest.mark.parametrize(("rounds", "begun"), [(1, [3, 2, 1, 0]), (2, [2, 0]), (3, [1]), (5, [])])
def test_with_many_clusters_rounds_begin_less_often(
    rounds: int, begun: list[int], fire: Fire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has longer steps then, and a round would look at all of them for few that are due."""
    fire()
    clusters = clusters_to_evaluate(now().timestamp()).count()
    monkeypatch.setattr(tasks, "CLUSTERS_OF_ROUND", clusters / (rounds - 1) if rounds > 1 else clusters + 1)
    following = [FOLLOWING]
    monkeypatch.setattr(evaluate_shard, "apply_async", lambda arguments, **options: None)
    monkeypatch.setattr(start_round, "apply_async", lambda arguments, **options: following.append(*arguments))
    for known in range(1, FOLLOWING + 1):
        if len(following) == known:
            start_round(following[-1])
    assert following[1:] == begun


def test_at_rest_no_round_follows(fire: Fire, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rounds_after(False, fire, monkeypatch) == []


def test_rounds_leave_no_time_between_two_scheduled_ones() -> None:
    assert settings.CELERY_BEAT_SCHEDULE["alerts"]["schedule"] == (FOLLOWING + 1) * ROUND


def test_every_channel_with_due_deliveries_is_sent_to(
    webhook: Receiver, alertmanager: Receiver, fire: Fire, eager: None
) -> None:
    make_channel("a", webhook.url, kind="webhook")
    make_channel("b", webhook.url, kind="webhook", repeat_hours=1)
    make_channel("c", alertmanager.url, kind="alertmanager")
    fire()
    deliver()
    assert sorted(body["receiver"] for body in webhook.bodies) == ["a", "b"]
    assert len(alertmanager.bodies) == 1

    Delivery.objects.update(sent=now() - timedelta(hours=2))
    repeat()
    deliver()
    assert webhook.bodies[2]["receiver"] == "b"
    assert len(alertmanager.bodies) == 2
    assert Alert.objects.count() == 1
