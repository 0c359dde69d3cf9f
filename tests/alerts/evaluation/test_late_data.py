"""Late data can add alerts, which say so and are told once; it never changes or removes what was said."""

from __future__ import annotations

from observatory.alerts.models import Alert, Channel, Delivery
from observatory.clusters.models import Cluster
from observatory.runs.models import Run
from observatory.runs.tasks import find_runs
from observatory.store.late_records import with_late
from observatory.wire.records import Event
from tests.alerts.evaluation.conftest import (
    BUSY,
    CALM,
    START,
    Observed,
    after,
    alerts,
    at,
    event_rule,
    make_rule,
    notified,
    sample,
)


def late_ones() -> list[bool]:
    return list(Alert.objects.order_by("pending").values_list("is_late", flat=True))


def test_late_data_adds_alerts_that_are_sent_once(observed: Observed, channel: Channel) -> None:
    make_rule(hold_seconds=5)
    observed.load(*CALM, *CALM, *CALM, since=0)
    observed.evaluate(60)
    observed.tell(*(sample(20 + time, 20, metric="other") for time in range(20)), until=60)
    make_rule("other", {"metric": "other", "by": "cluster", "comparison": ">", "threshold": 10})
    observed.evaluate(61)
    assert alerts() == [("other", "resolved", 20, 20, 54)]
    assert late_ones() == [True]
    assert notified() == [("other", "firing"), ("other", "resolved")]
    assert observed.cluster.pk not in with_late()
    observed.tell(sample(39.5, 20, metric="other"), until=62)
    observed.evaluate(62)
    assert len(alerts()) == 1
    assert len(notified()) == 2


def test_late_data_can_add_an_alert_that_is_still_firing(observed: Observed, channel: Channel) -> None:
    event_rule("worker-lost", window=60)
    observed.load(*CALM, *CALM, since=0)
    observed.evaluate(40)
    observed.tell(Event(START + 10, "worker-lost", "", {"message": "w1"}), until=41)
    observed.evaluate(41)
    assert alerts() == [("worker-lost", "firing", 10, 10, None)]
    observed.load(*CALM, *CALM, *CALM, since=40)
    observed.evaluate(100)
    assert alerts() == [("worker-lost", "resolved", 10, 10, 70)]
    assert late_ones() == [True]
    assert notified() == [("worker-lost", "firing"), ("worker-lost", "resolved")]


def test_late_data_does_not_change_existing_alerts(observed: Observed, channel: Channel) -> None:
    make_rule()
    observed.load(*CALM, *BUSY, *CALM, since=0)
    observed.evaluate(60)
    said = alerts()
    # it was calm, another source says; and busy already a little before
    observed.tell(*(sample(time + 0.5, 1) for time in range(20, 40)), until=60)
    observed.tell(*(sample(time + 0.25, 20) for time in range(18, 20)), until=61)
    observed.evaluate(61)
    assert [alert for alert in alerts() if alert in said] == said
    assert late_ones() == [True, False]
    assert notified()[:2] == [("load", "firing"), ("load", "resolved")]


def test_the_backlog_of_an_agent_is_evaluated_when_it_is_complete(
    observed: Observed, channel: Channel
) -> None:
    make_rule()
    observed.load(*CALM, since=0)
    observed.evaluate(20)
    observed.evaluate(100)  # by the clock: nothing is heard of the agent
    assert alerts() == []
    observed.load(*CALM, *BUSY, since=20)
    Cluster.objects.update(agent_heard=at(101))
    observed.evaluate(101)
    assert alerts() == []  # the agent has still more to tell
    observed.load(*CALM, *CALM, since=60)
    Cluster.objects.update(agent_heard=at(102))
    observed.evaluate(102)
    assert alerts() == [("load", "resolved", 40, 40, 60)]
    assert late_ones() == [True]
    assert notified() == [("load", "firing"), ("load", "resolved")]
    observed.load(*BUSY, since=100)
    observed.evaluate(120)
    assert alerts()[1:] == [("load", "firing", 100, 100, None)]
    assert late_ones() == [True, False]


def test_the_end_of_a_cluster_with_a_silent_agent_is_sent(observed: Observed) -> None:
    event_rule("ended-with-errors", window=300)
    observed.load(*CALM, since=0)
    with observed.writer as writer:
        from observatory.store.ingest.batches.batch import Batch

        writer.write(Batch.of(observed.cluster.pk, errors=3))
    observed.evaluate(20)
    observed.evaluate(140)
    assert alerts() == []
    observed.end(19, "its agent fell silent")
    observed.evaluate(141)
    assert [alert[:4] for alert in alerts()] == [("ended-with-errors", "firing", 19, 19)]


def test_a_slower_run_is_reported_when_its_end_is_known(observed: Observed) -> None:
    observed.load(*CALM, since=0)
    observed.evaluate(20)
    run = Run.objects.create(
        cluster=observed.cluster,
        name="nightly",
        origin=Run.Origin.FOUND,
        outcome=Run.Outcome.FINISHED,
        start=at(0),
        stop=at(10),
    )
    find_runs()
    assert run.cluster_id in with_late()


def test_a_run_that_is_found_after_its_end_fires_from_its_end(observed: Observed, channel: Channel) -> None:
    condition = {"kind": "run", "measure": "duration", "threshold": 0.2, "window_seconds": 100}
    make_rule("slower", condition)
    observed.load(*CALM, *CALM, *CALM, since=0)
    observed.evaluate(60)
    nights = [(-9000, 10), (-6000, 11), (-3000, 10), (20, 15)]
    for start, seconds in nights:
        run = Run.objects.create(
            cluster=observed.cluster,
            name="nightly",
            origin=Run.Origin.CODE,
            outcome=Run.Outcome.FINISHED,
            start=at(start),
            stop=at(start + seconds),
        )
        if start < 0:
            Run.objects.filter(pk=run.pk).update(counted=at(start + 60))
    observed.load(1.0, since=60)
    observed.evaluate(61)
    assert alerts() == []
    find_runs()
    observed.load(*CALM, since=61)
    observed.evaluate(81)
    assert alerts() == [("slower", "firing", 35, 35, None)]
    assert [alert.labels for alert in Alert.objects.all()] == [{"run": "nightly"}]
    assert "nightly took 15.0 s, usually 10.0 s" in Alert.objects.get().message
    observed.load(*CALM, *CALM, *CALM, *CALM, since=81)
    observed.evaluate(161)
    assert alerts() == [("slower", "resolved", 35, 35, 135)]
    assert notified() == [("slower", "firing"), ("slower", "resolved")]


def test_a_late_alert_has_one_delivery_per_change(observed: Observed, channel: Channel) -> None:
    event_rule("worker-lost", window=20)
    observed.load(*CALM, *CALM, since=0)
    observed.evaluate(40)
    for _ in range(3):
        observed.tell(Event(START + 10, "worker-lost", "", {"message": "w1"}), until=40)
        observed.evaluate(40)
    assert [after(alert.fired) for alert in Alert.objects.all()] == [10]
    assert Delivery.objects.count() == 2
