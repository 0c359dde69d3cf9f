"""Rules as Dask users write them (published_rules.yml): accepted, or answered with a ready-made rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from observatory.alerts.models import Rule
from observatory.alerts.prometheus.files import Imported, export_rules, import_rules
from observatory.alerts.rules.condition_rows import spec_of
from observatory.wire.records import MetricType
from tests.alerts.conftest import Tell

FILE = Path(__file__).with_name("published_rules.yml")
COUNTER = MetricType.COUNTER


@pytest.fixture
def imported(tell: Tell) -> Imported:
    tell("process_cpu_seconds_total", 1, 2, worker="w0", kind=COUNTER)
    tell("process_resident_memory_bytes", 1, 2, worker="w0")
    return import_rules(FILE.read_text(), enabled=True)


OUTCOMES = {
    "SchedulerDown": "accepted",
    "SchedulerAbsent": "accepted",
    "SchedulerMetricsAbsent": "accepted",
    "SchedulerBlocked": "accepted",
    "NoWorkers": "accepted",
    "TooFewWorkers": "accepted",
    "WorkersDifferFromDesired": "accepted",
    "HalfOfWorkersMissing": "accepted",
    "TasksErred": "accepted",
    "TasksWithoutWorker": "accepted",
    "LongQueue": "accepted",
    "SuspiciousTasks": "accepted",
    "NoClients": "accepted",
    "WorkerDown": "accepted",
    "WorkerMemory": "accepted",
    "WorkerSpills": "accepted",
    "WorkerCpu": "accepted",
    "WorkerMemoryGrows": "accepted",
    "WorkerOutOfMemory": "ready-made: Worker memory",
    "WorkerRestarts": "ready-made: Worker lost",
}


def test_rules_that_dask_users_publish_are_accepted_or_answered_with_a_ready_made_rule(
    imported: Imported,
) -> None:
    found = {rule.name: "accepted" for rule in imported.rules}
    found |= {
        left.name: f"ready-made: {left.ready_made}" if left.ready_made else str(left)
        for left in imported.left_out
    }
    assert found == OUTCOMES
    assert len(OUTCOMES) == 20


def test_no_text_of_an_imported_rule_has_a_template(imported: Imported) -> None:
    texts = [text for rule in imported.rules for text in (rule.message, rule.description, rule.advice)]
    assert any("{value" in text for text in texts)
    assert not [text for text in texts if "{{" in text or "$" in text]


def test_the_changes_of_each_rule_are_listed(imported: Imported) -> None:
    notes = [note for name, note in imported.notes if name == "TasksErred"]
    assert notes == [
        "“by (job)” is left out: rules are evaluated for each cluster",
        "the group's interval (30s) is left out: rules are evaluated every 2 seconds",
        "{{ $labels.job }} became {cluster}, the cluster's name",
    ]
    down = [note for name, note in imported.notes if name == "WorkerDown"]
    scope = "use the rule's projects, targets and cluster names"
    assert f'job="dask-worker" was left out: {scope}' in down
    assert "“for” (2m) is left out: a worker was lost or disappeared isn't a lasting state" in down


def test_accepted_rules_on_metrics_are_equivalent_after_export_and_import(imported: Imported) -> None:
    before = {rule.name: spec_of(rule, list(rule.conditions.all())) for rule in imported.rules}
    text = export_rules(Rule.objects.filter(enabled=True).prefetch_related("conditions"))
    Rule.objects.all().delete()
    again = import_rules(text)
    assert again.left_out == []
    after = {rule.name: spec_of(rule, list(rule.conditions.all())) for rule in again.rules}
    on_events = {"SchedulerDown", "SchedulerAbsent", "WorkerDown"}
    assert {name: before[name] for name in after} == after
    assert before.keys() - after.keys() == on_events
