"""The choice of a quantity in the form of a rule, without scripts."""

from __future__ import annotations

import pytest
from django.test import Client

from observatory.alerts.models import Rule
from observatory.alerts.rules import ready_made
from observatory.alerts.rules.condition_rows import condition_of, spec_of
from observatory.alerts.rules.quantities import QUANTITIES
from tests.alerts.admin.forms import BLANK, MEMORY, rule_form
from tests.support.projects import World

ADD = "/admin/alerts/rule/add/"
UNTOUCHED = BLANK | {"aggregate": "sum", "by": "worker"}
"""the condition as the form shows it at first"""


@pytest.fixture
def admin(world: World) -> Client:
    return world.client("superuser")


def made(client: Client, *conditions: dict[str, str], **fields: str) -> Rule:
    answer = client.post(ADD, rule_form(*conditions, **fields))
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    return Rule.objects.latest("pk")


@pytest.mark.parametrize("key", QUANTITIES)
def test_choosing_a_quantity_is_enough_for_a_rule(admin: Client, key: str) -> None:
    rule = made(admin, UNTOUCHED | {"quantity": key}, hold_seconds="")
    quantity = QUANTITIES[key]
    assert condition_of(rule.conditions.get()) == quantity.condition
    assert rule.hold_seconds == quantity.hold


def test_entered_limits_are_kept(admin: Client) -> None:
    chosen = UNTOUCHED | {"quantity": "worker-memory", "threshold": "70 %"}
    rule = made(admin, chosen, hold_seconds="3 min")
    condition = rule.conditions.get()
    assert (condition.labels, condition.other_attribute) == ('type="process"', "memory_limit")
    assert (condition.threshold, condition.clear_threshold) == (pytest.approx(0.7), None)
    assert rule.hold_seconds == 180


def test_fields_that_were_entered_win_over_the_quantity(admin: Client) -> None:
    rule = made(admin, MEMORY | {"quantity": "worker-disk"})
    assert rule.conditions.get().metric == MEMORY["metric"]
    assert rule.hold_seconds == 0


def test_another_quantity_replaces_the_condition_of_a_saved_rule(admin: Client) -> None:
    rule = made(admin)
    own = {"id": str(rule.conditions.get().pk), "rule": str(rule.pk), "quantity": "worker-disk"}
    answer = admin.post(f"/admin/alerts/rule/{rule.pk}/change/", rule_form(MEMORY | own, name=rule.name))
    assert answer.status_code == 302
    [condition] = spec_of(rule, list(rule.conditions.all())).conditions
    assert condition == QUANTITIES["worker-disk"].condition


def test_the_page_of_a_rule_shows_the_quantity_that_it_is_on(admin: Client) -> None:
    ready_made.make()
    rule = Rule.objects.get(key="gil-contention")
    page = admin.get(f"/admin/alerts/rule/{rule.pk}/change/").content.decode()
    assert '<option value="worker-gil" selected>GIL contention of a worker</option>' in page


def test_an_unknown_quantity_is_rejected(admin: Client) -> None:
    answer = admin.post(ADD, rule_form(MEMORY | {"quantity": "luck"}))
    [formset] = (inline.formset for inline in answer.context["inline_admin_formsets"])
    assert list(formset.errors[0]) == ["quantity"]
