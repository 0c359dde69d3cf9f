"""The rules that are there from the beginning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db.models.signals import post_migrate

from observatory.alerts.models import Condition, Rule
from observatory.alerts.rules.conditions import RuleSpec
from observatory.alerts.rules.ready_made import BY_KEY, RULES, make, make_after_migrations, reset
from tests.alerts.evaluation.window.conftest import Stored, stored
from tests.docs.scripts import load_script

__all__ = ["stored"]

ROOT = Path(__file__).parents[3]


@pytest.fixture
def made(db: None) -> None:
    make()


def test_migrations_create_the_ready_made_rules(db: None) -> None:
    assert not Rule.objects.exists()
    alerts = apps.get_app_config("alerts")
    post_migrate.connect(make_after_migrations, sender=alerts, dispatch_uid="ready-made rules")
    try:
        call_command("migrate", verbosity=0)
    finally:
        post_migrate.disconnect(sender=alerts, dispatch_uid="ready-made rules")
    assert {rule.key for rule in Rule.objects.filter(enabled=True)} == set(BY_KEY)


def test_every_ready_made_rule_has_a_description_and_advice(made: None) -> None:
    assert len(RULES) == 28
    for rule in Rule.objects.all():
        assert rule.description
        assert rule.advice
        assert rule.message
        rule.full_clean(exclude=["cluster_names", "created_by"])
        for condition in rule.conditions.all():
            condition.full_clean()


def test_changed_and_deleted_ready_made_rules_stay_so(made: None) -> None:
    lost = Rule.objects.get(key="worker-lost")
    lost.name, lost.enabled = "Gone", False
    lost.save()
    Rule.objects.get(key="transfers").delete()
    make()
    lost.refresh_from_db()
    assert (lost.name, lost.enabled) == ("Gone", False)
    assert not Rule.objects.filter(key="transfers").exists()
    assert Rule.objects.count() == len(RULES) - 1


def test_a_ready_made_rule_gets_another_name_if_its_name_is_taken(db: None) -> None:
    theirs = Rule.objects.create(name="Worker lost")
    make()
    assert Rule.objects.get(key="worker-lost").name == "Worker lost (ready-made)"
    theirs.refresh_from_db()
    assert (theirs.name, theirs.key) == ("Worker lost", "")


def test_reset_restores_a_ready_made_rule(made: None) -> None:
    rule = Rule.objects.get(key="cluster-memory")
    before, asked = rule.changed, list(rule.conditions.values("metric", "threshold", "clear_threshold"))
    rule.name, rule.hold_seconds, rule.description, rule.enabled = "X", 1, "", False
    rule.cluster_names = "etl-*"
    rule.save()
    rule.conditions.all().delete()
    Condition.objects.create(rule=rule, metric="m", threshold=1)
    reset(rule)
    rule.refresh_from_db()
    assert (rule.name, rule.hold_seconds) == ("Memory pressure", 60)
    assert rule.description == BY_KEY["cluster-memory"].description
    assert list(rule.conditions.values("metric", "threshold", "clear_threshold")) == asked
    assert (rule.enabled, rule.cluster_names) == (False, "etl-*")
    assert rule.changed > before


TASKS, WORKERS = "observatory_cluster_tasks", "observatory_cluster_workers"
LOOP = "observatory_scheduler_event_loop_interval_seconds"


@pytest.mark.parametrize(
    ("key", "metric", "state", "problem", "fired"),
    [
        ("queue-idle", TASKS, "queued", lambda second: 5.0 * second, 61),
        ("no-worker", TASKS, "no-worker", lambda second: 3.0, 60),
        ("scheduler-blocked", LOOP, "", lambda second: 0.8, 30),
    ],
)
def test_a_rule_on_the_cluster_fires_in_its_problem_and_not_otherwise(
    stored: Stored, key: str, metric: str, state: str, problem: Callable[[int], float], fired: float
) -> None:
    labels = {"state": state} if state else {}
    idle = {float(second): float(second < 300) for second in range(600)}
    stored.samples(idle, WORKERS, state="idle")
    troubled = {float(second): problem(second) if second < 150 else 0.0 for second in range(600)}
    stored.samples(troubled, metric, **labels)
    ready_made = BY_KEY[key]
    found = stored.firings(RuleSpec(ready_made.conditions, ready_made.hold), 0, 600)
    assert [firing.fired for _, firing in found] == [fired]
    assert found[0][1].resolved is not None
    assert stored.firings(RuleSpec(ready_made.conditions, ready_made.hold), 320, 600) == []


def test_the_documentation_lists_all_ready_made_rules() -> None:
    maker = load_script("make_ready_made_rules")
    page = (ROOT / "docs/alerts.md").read_text()
    assert maker.listed() in page, "run docs/scripts/make_ready_made_rules.py"
