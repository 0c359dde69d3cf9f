"""What a rule is tried on the past to say is what the evaluator said when that was the present."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from observatory.alerts.evaluation.back_test import back_test
from observatory.alerts.evaluation.open_alerts import none_if_nan
from observatory.alerts.evaluation.window.state_machine import Firing
from observatory.alerts.models import Alert, Rule
from observatory.alerts.rules.condition_rows import spec_of
from observatory.clusters.models import Cluster
from observatory.store.ingest.batches.batch import Batch
from observatory.wire.records import Event, Sample, Series, WorkerGone, WorkerSeen
from tests.alerts.evaluation.conftest import START, Observed, after, event_rule, make_rule

LENGTH = 420
GIB = 2**30
WORKERS = [f"tcp://10.0.0.{number}:4000" for number in range(4)]
"""the last one is there for a while only"""
MEMORY = "observatory_worker_memory_bytes"


def worker_rule(name: str, threshold: float, clear: float | None = None, **fields: object) -> Rule:
    condition = {
        "metric": MEMORY,
        "labels": 'type="process"',
        "by": "worker",
        "threshold": threshold,
        "clear_threshold": clear,
        "other": "attribute",
        "other_attribute": "memory_limit",
    }
    return make_rule(name, condition, **fields)


@pytest.fixture
def rules(observed: Observed) -> list[Rule]:
    total = {"metric": MEMORY, "by": "cluster", "threshold": 8 * GIB}
    rate = {"metric": "load", "by": "cluster", "threshold": 0.01, "function": "rate", "window_seconds": 30}
    return [
        worker_rule("memory", 0.7),
        worker_rule("memory for a while", 0.6, hold_seconds=7),
        worker_rule("hysteresis", 0.7, 0.3, hold_seconds=3),
        worker_rule("silent workers", 0.95, no_data="fire"),
        worker_rule("keeps", 0.6, no_data="keep"),
        make_rule("total", total),
        make_rule("rate", rate, hold_seconds=2),
        event_rule("worker-lost", window=40, by="worker"),
        event_rule("restarted", window=25, hold_seconds=5),
    ]


def recording(chance: random.Random) -> list[tuple[float, Sample | Event]]:
    """What a cluster tells, in the order in which it is told: each within three seconds of its time."""
    records: list[tuple[float, Sample | Event]] = []
    for worker in WORKERS:
        level, silent = 0.5, 0
        for second in range(LENGTH):
            level = min(1.0, max(0.0, level + chance.gauss(0, 0.12)))
            silent = chance.randint(10, 40) if chance.random() < 0.01 else silent - 1
            gone = worker == WORKERS[-1] and not 200 <= second < 350
            if silent > 0 or gone:
                continue
            series = Series(MEMORY, (("type", "process"),), worker)
            time = second + chance.random()
            records.append((time + 3 * chance.random(), Sample(series, START + time, level * 4 * GIB)))
    for second in range(0, LENGTH, 5):
        sample = Sample(Series("load"), START + second, chance.random())
        records.append((second + chance.random(), sample))
    for _ in range(12):
        time = chance.uniform(0, LENGTH)
        kind = chance.choice(["worker-lost", "restarted"])
        worker = chance.choice(WORKERS[:3]) if kind == "worker-lost" else ""
        records.append((time + chance.random(), Event(START + time, kind, worker, {"message": "so"})))
    return sorted(records, key=lambda record: record[0])


def tell_in_pieces(observed: Observed, chance: random.Random) -> None:
    """Stores what a cluster tells piece by piece, with a round of the evaluator after each, to its end."""
    first = [WorkerSeen(address, address[-6:], "h", 2, 4 * GIB, START) for address in WORKERS[:3]]
    last = WorkerSeen(WORKERS[-1], "late", "h", 2, 4 * GIB, START + 200)
    observed.writer.write(Batch.of(observed.cluster.pk, workers=first))
    records, notified = recording(chance), 0.0
    while notified < LENGTH + 4:
        until = notified + chance.choice([2, 5, 17, 40])
        some = [record for when, record in records if notified <= when < until]
        if notified <= 200 < until:
            observed.writer.write(Batch.of(observed.cluster.pk, workers=[last]))
        if notified <= 350 < until:
            gone = WorkerGone(WORKERS[-1], START + 350, "retired")
            observed.writer.write(Batch.of(observed.cluster.pk, gone=[gone]))
        observed.tell(*some, until=until)
        observed.evaluate(until)
        notified = until
    observed.end(notified)
    for now in (notified + 20, notified + 80):
        observed.evaluate(now)


Said = list[tuple[object, ...]]


def said_live(rule: Rule) -> Said:
    rows = [
        (
            alert.worker_id,
            after(alert.pending),
            after(alert.fired),
            after(alert.resolved),
            alert.value,
            alert.is_late,
        )
        for alert in Alert.objects.filter(rule=rule)
    ]
    return sorted(rows, key=repr)


def said_of_the_past(rule: Rule, cluster: Cluster) -> Said:
    tested = back_test(cluster, spec_of(rule, list(rule.conditions.all())), START, START + 2 * LENGTH)
    assert not tested.omitted
    rows = [row(each.outcome.subject.worker_id, firing) for each in tested.results for firing in each.firings]
    return sorted(rows, key=repr)


def row(worker: int | None, firing: Firing) -> tuple[object, ...]:
    assert firing.resolved is not None
    times = [round(time - START, 6) for time in (firing.pending, firing.fired, firing.resolved)]
    return (worker, *times, none_if_nan(firing.value), False)


def test_a_back_test_equals_the_live_evaluation(observed: Observed, rules: Sequence[Rule]) -> None:
    tell_in_pieces(observed, random.Random(1))
    cluster = Cluster.objects.get(pk=observed.cluster.pk)
    for rule in rules:
        live = said_live(rule)
        assert live, f"{rule} said nothing: nothing is tested"
        assert live == said_of_the_past(rule, cluster), rule.name
