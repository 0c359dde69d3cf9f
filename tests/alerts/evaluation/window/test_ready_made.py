"""Each ready-made rule fires where its condition is there, and none where a cluster is well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from observatory.alerts.rules.conditions import RuleSpec
from observatory.alerts.rules.ready_made import BY_KEY, RULES
from observatory.clusters.models import Cluster
from observatory.runs.models import Run
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import MetricType, Sample, Series
from tests.alerts.evaluation.window.conftest import START, Stored
from tests.support.projects import make_run
from tests.support.recorded_cluster import Recorded

GIB = 2**30
UNTIL = 1_200.0
HOUR = 3_600.0
Occurrence = Callable[[Stored], None]


def spec(key: str) -> RuleSpec:
    rule = BY_KEY[key]
    return RuleSpec(rule.conditions, rule.hold, rule.no_data)


def steady(
    stored: Stored, metric: str, value: float, worker: str = "", until: float = UNTIL, **labels: str
) -> None:
    series = Series(metric, tuple(labels.items()), worker)
    stored.write(samples=[Sample(series, START + time, value) for time in range(0, int(until), 5)])


def growing(stored: Stored, metric: str, growth: float, **labels: str) -> None:
    """A counter that grows by so much a second."""
    series = Series(metric, tuple(labels.items()), type=MetricType.COUNTER)
    stored.write(samples=[Sample(series, START + time, time * growth) for time in range(0, int(UNTIL), 5)])


def of_cluster(stored: Stored, kind: str, share: float) -> None:
    steady(stored, "observatory_cluster_memory_bytes", share * 8 * GIB, type=kind)
    steady(stored, "observatory_cluster_memory_limit_bytes", 8 * GIB)


def of_worker(stored: Stored, kind: str, share: float) -> None:
    stored.worker("w0", limit=4 * GIB)
    steady(stored, "observatory_worker_memory_bytes", share * 4 * GIB, "w0", type=kind)


def told_by_worker(stored: Stored, metric: str, value: float) -> None:
    stored.worker("w0", limit=4 * GIB)
    steady(stored, metric, value, "w0")


def paused(stored: Stored) -> None:
    stored.worker("w0")
    stored.event(10, "worker-status", "w0", status="paused", message="w0 is paused")
    stored.event(40, "worker-status", "w0", status="running", message="w0 is running")


def leaving(stored: Stored, kind: str) -> None:
    stored.worker("w0")
    stored.event(10, kind, "w0", message="w0 was lost")
    stored.leaves("w0", 10)


def erred(stored: Stored, outcome: str, count: int) -> None:
    recorded = Recorded(stored.connection, stored.cluster.pk)
    for number in range(count):
        recorded.error(number, f"load-{number}", outcome=outcome)


def erred_by_number(stored: Stored) -> None:
    stored.event(5, "tasks-erred", count=12, message="12 tasks erred")


def saturated(stored: Stored) -> None:
    steady(stored, "observatory_scheduler_cpu_percent", 99)
    steady(stored, "observatory_scheduler_event_loop_interval_seconds", 0.12)


def idle(stored: Stored, seconds: float) -> None:
    until = seconds + 120
    for state in ("waiting", "queued", "no-worker", "processing"):
        steady(stored, "observatory_cluster_tasks", 0, until=until, state=state)
    steady(stored, "observatory_cluster_tasks", 7, until=until, state="memory")
    steady(stored, "observatory_cluster_workers", 2, until=until, state="total")


def waiting(stored: Stored, growth: float) -> None:
    steady(stored, "observatory_cluster_tasks", 5, state="waiting")
    steady(stored, "observatory_cluster_tasks", 0, state="no-worker")
    growing(stored, "observatory_cluster_tasks_finished_total", growth)


def unreachable(stored: Stored, seconds: float) -> None:
    stored.event(10, "scheduler-unreachable", message="the scheduler doesn't answer")
    stored.event(10 + seconds, "scheduler-reachable", message="the scheduler answers again")


def interrupted(stored: Stored, opens: str, closes: str, seconds: float) -> None:
    stored.event(10, opens, message="nothing was heard")
    stored.event(10 + seconds, closes, message="it goes on")


def dropped(stored: Stored) -> None:
    for kind in ("span", "sample"):
        stored.event(10, "records-dropped", count=499, message=f"499 of {kind} were dropped")


def filling(stored: Stored, free: float) -> None:
    steady(stored, "observatory_disk_free_bytes", free * GIB)


def piling_up(stored: Stored, beat_age: float) -> None:
    steady(stored, "observatory_celery_queue_length", 101)
    steady(stored, "observatory_celery_beat_age_seconds", beat_age)


def using_quota(stored: Stored, share: float) -> None:
    steady(stored, "observatory_project_quota_ratio", share, project="etl")


def refused(stored: Stored, seconds: float = UNTIL) -> None:
    steady(stored, "observatory_refused_agents", 1, until=seconds, reason="unknown-token")


def queueing(stored: Stored, growth: float) -> None:
    queued = Series("observatory_cluster_tasks", (("state", "queued"),))
    stored.write(samples=[Sample(queued, START + time, time * growth) for time in range(0, int(UNTIL), 5)])
    steady(stored, "observatory_cluster_workers", 1, state="idle")


def repeated(stored: Stored, last: float, error: str = "") -> None:
    """Four runs of a name, of five minutes but for the last; the last has an error."""
    fields = {"errors": 1, "outcome": Run.Outcome.ERRED} if error else {}
    for place, minutes in enumerate((5.0, 5.0, 5.0, last)):
        make_run(stored.cluster, "nightly", 10.0 * place, minutes, **(fields if place == 3 else {}))
    if error:
        offset = stored.cluster.started.timestamp() - START
        Recorded(stored.connection, stored.cluster.pk).error(offset + 1_860, "load-1", error, "failed")


def transferring(stored: Stored, transfer: float, compute: float) -> None:
    growing(stored, "observatory_cluster_task_seconds_total", transfer, action="transfer")
    growing(stored, "observatory_cluster_task_seconds_total", compute, action="compute")


FIRES: dict[str, Occurrence] = {
    "cluster-memory": partial(of_cluster, kind="process", share=0.9),
    "worker-memory": partial(of_worker, kind="process", share=0.93),
    "disk-usage": partial(told_by_worker, metric="observatory_worker_disk_ratio", value=0.97),
    "unmanaged-memory": partial(of_worker, kind="unmanaged", share=0.6),
    "spilling": partial(of_cluster, kind="spilled", share=0.4),
    "worker-paused": paused,
    "worker-lost": partial(leaving, kind="worker-lost"),
    "killed-worker": partial(erred, outcome="killed", count=1),
    "task-errors": partial(erred, outcome="erred", count=10),
    "event-loop": partial(told_by_worker, metric="observatory_worker_event_loop_interval_seconds", value=0.8),
    "gil-contention": partial(told_by_worker, metric="observatory_worker_gil_contention_ratio", value=0.8),
    "scheduler-saturated": saturated,
    "idle-cluster": partial(idle, seconds=HOUR),
    "no-progress": partial(waiting, growth=0),
    "unreachable": partial(unreachable, seconds=60),
    "transfers": partial(transferring, transfer=3, compute=1),
    "agent-silent": partial(interrupted, opens="agent-silent", closes="agent-heard", seconds=60),
    "collector-behind": partial(
        interrupted, opens="collector-behind", closes="collector-caught-up", seconds=60
    ),
    "records-dropped": dropped,
    "disk-filling": partial(filling, free=4.9),
    "tasks-waiting": partial(piling_up, beat_age=12),
    "agents-refused": refused,
    "quota-filling": partial(using_quota, share=0.81),
    "queue-idle": partial(queueing, growth=1),
    "no-worker": partial(steady, metric="observatory_cluster_tasks", value=3, state="no-worker"),
    "scheduler-blocked": partial(
        steady, metric="observatory_scheduler_event_loop_interval_seconds", value=0.6
    ),
    "new-errors": partial(repeated, last=5, error="KeyError"),
    "slower-run": partial(repeated, last=8),
}
OF_WORKERS = {
    "worker-memory",
    "disk-usage",
    "unmanaged-memory",
    "worker-paused",
    "worker-lost",
    "event-loop",
    "gil-contention",
}
OF_SERIES = {
    "agents-refused": "reason=unknown-token",
    "quota-filling": "project=etl",
    "new-errors": "run=nightly",
    "slower-run": "run=nightly",
}

QUIET: list[tuple[str, Occurrence]] = [
    ("cluster-memory", partial(of_cluster, kind="process", share=0.8)),
    ("worker-memory", partial(of_worker, kind="process", share=0.85)),
    ("unmanaged-memory", partial(of_worker, kind="unmanaged", share=0.4)),
    ("spilling", partial(of_cluster, kind="spilled", share=0.1)),
    ("worker-lost", partial(leaving, kind="worker-removed")),
    ("task-errors", partial(erred, outcome="erred", count=9)),
    ("task-errors", partial(erred, outcome="retried", count=50)),
    ("killed-worker", partial(erred, outcome="erred", count=3)),
    ("idle-cluster", partial(idle, seconds=HOUR - 300)),
    ("no-progress", partial(waiting, growth=0.1)),
    ("unreachable", partial(unreachable, seconds=20)),
    ("agent-silent", partial(interrupted, opens="agent-silent", closes="agent-heard", seconds=10)),
    ("agent-silent", partial(interrupted, opens="collector-behind", closes="agent-heard", seconds=60)),
    ("disk-filling", partial(filling, free=5.1)),
    # then Celery's heartbeat is late: this is for the alert “Observatory itself”
    ("tasks-waiting", partial(piling_up, beat_age=61)),
    ("agents-refused", partial(refused, seconds=60)),
    ("quota-filling", partial(using_quota, share=0.79)),
    ("transfers", partial(transferring, transfer=0.5, compute=1)),
    ("transfers", partial(transferring, transfer=0.2, compute=0.1)),
    ("queue-idle", partial(queueing, growth=0)),
    ("new-errors", partial(repeated, last=8)),
    ("slower-run", partial(repeated, last=5.5)),
    ("scheduler-saturated", lambda stored: steady(stored, "observatory_scheduler_cpu_percent", 99)),
]


@pytest.fixture
def fresh(stored: Stored) -> Iterator[Callable[[], Stored]]:
    """Makes clusters of which nothing is stored yet."""
    made: list[Cluster] = []

    def make() -> Stored:
        like = stored.cluster
        made.append(
            Cluster.objects.create(
                project=like.project,
                scheduler_id=f"Scheduler-of-{len(made)}",
                name=like.name,
                started=like.started,
                last_seen=like.last_seen,
            )
        )
        return Stored(stored.connection, made[-1])

    yield make
    for cluster in made:
        delete_cluster(cluster.pk)


def test_every_ready_made_rule_has_a_scenario() -> None:
    assert FIRES.keys() == BY_KEY.keys()


def test_each_ready_made_rule_fires_in_its_scenario(fresh: Callable[[], Stored]) -> None:
    for key, happened in FIRES.items():
        stored = fresh()
        happened(stored)
        found = stored.firings(spec(key), 0, 600, HOUR + 300)
        assert len(found) == 1, key
        [(of, firing)] = found
        assert of == OF_SERIES.get(key, "w0" if key in OF_WORKERS else ""), key
        assert firing.fired - firing.pending == pytest.approx(BY_KEY[key].hold), key


def test_a_worker_that_disappeared_for_an_unknown_reason_counts_as_lost(stored: Stored) -> None:
    leaving(stored, "worker-disappeared")
    [(subject, firing)] = stored.firings(spec("worker-lost"), 0, 600)
    assert (subject, firing.fired) == ("w0", 10)


def test_errors_that_are_only_counted_fire_too(stored: Stored) -> None:
    erred_by_number(stored)
    [(_, firing)] = stored.firings(spec("task-errors"), 0, 600)
    assert (firing.fired, firing.value, firing.text) == (5, 12, "12 tasks erred")


def test_each_ready_made_rule_does_not_fire_below_its_threshold(fresh: Callable[[], Stored]) -> None:
    for key, happened in QUIET:
        stored = fresh()
        happened(stored)
        assert stored.firings(spec(key), 0, 600, HOUR + 300) == [], (key, happened)


def test_no_ready_made_rule_fires_on_a_healthy_cluster(stored: Stored) -> None:
    for worker in ("w0", "w1"):
        stored.worker(worker, limit=4 * GIB)
        for kind, share in {"process": 0.6, "managed": 0.4, "unmanaged": 0.2, "spilled": 0.01}.items():
            steady(stored, "observatory_worker_memory_bytes", share * 4 * GIB, worker, type=kind)
        steady(stored, "observatory_worker_disk_ratio", 0.7, worker)
        steady(stored, "observatory_worker_event_loop_interval_seconds", 0.03, worker)
        steady(stored, "observatory_worker_gil_contention_ratio", 0.2, worker)
    of_cluster(stored, "process", 0.6)
    of_cluster(stored, "spilled", 0.01)
    for state, count in {"waiting": 20, "processing": 4, "memory": 9}.items():
        steady(stored, "observatory_cluster_tasks", count, state=state)
    steady(stored, "observatory_cluster_workers", 2, state="total")
    growing(stored, "observatory_cluster_tasks_finished_total", 2)
    transferring(stored, 0.3, 3)
    steady(stored, "observatory_scheduler_cpu_percent", 30)
    steady(stored, "observatory_scheduler_event_loop_interval_seconds", 0.02)
    stored.event(100, "worker-added", "w1", message="w1 joined")
    for ready_made in RULES:
        assert stored.firings(spec(ready_made.key), 0, 600, UNTIL) == [], ready_made.name
