"""What was limited to a project, target or rule that is deleted never applies to all."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils.timezone import now

from observatory.alerts.models import Channel, MaintenanceWindow, Rule, Silence
from observatory.clusters.models import Target
from tests.clusters.deletion.conftest import Filled

pytestmark = pytest.mark.django_db(transaction=True)


def make(model: Any, name: str, **fields: Any) -> Any:
    times = {"starts": now(), "stops": now()} if model is MaintenanceWindow else {}
    return model.objects.create(name=name, **times, **fields)


def test_a_rule_on_a_target_that_is_removed_is_disabled_and_says_why(filled: Filled) -> None:
    alpha = filled.world.alpha
    first, second = alpha.targets.get(name="other"), filled.world.target
    on_one, on_two = make(Rule, "on one"), make(Rule, "on two")
    on_one.targets.add(first)
    on_two.targets.add(first, second)
    window = make(MaintenanceWindow, "of one")
    window.targets.add(first)
    client = filled.world.client("editor")
    page = client.get(f"/targets/{first.pk}/remove/").content.decode()
    assert "<strong>on one</strong> applies only to this target" in page
    assert "<strong>of one</strong> covers only this target" in page
    assert "on two" not in page
    assert client.post(f"/targets/{first.pk}/remove/").status_code == 302
    on_one.refresh_from_db()
    assert not on_one.enabled
    assert "the target other alone" in on_one.error
    on_two.refresh_from_db()
    assert on_two.enabled
    assert on_two.targets.get() == second
    assert not MaintenanceWindow.objects.filter(pk=window.pk).exists()


def test_targets_that_go_with_their_discovery_disable_their_rules_too(filled: Filled) -> None:
    found = Target.objects.get(name="found", project=filled.world.alpha)
    rule = make(Rule, "on the found one")
    rule.targets.add(found)
    found.discovery.delete()  # type: ignore[union-attr]
    rule.refresh_from_db()
    assert not rule.enabled


def test_a_channel_of_a_rule_that_is_deleted_is_switched_off_and_the_preview_says_so(filled: Filled) -> None:
    rule = filled.rules["alpha"]
    alone, shared = (make(Channel, name, secret="") for name in ("alone", "shared"))
    alone.rules.add(rule)
    shared.rules.add(rule, filled.to_all)
    page = filled.world.client("superuser").get(f"/delete/rule/{rule.pk}/").content.decode()
    assert "The channel alone sends its alerts alone" in page
    assert "channel shared" not in page
    rule.delete()
    for channel in (alone, shared):
        channel.refresh_from_db()
    assert (alone.enabled, shared.enabled) == (False, True)


def test_a_project_deleted_by_any_code_takes_along_what_is_limited_to_it(filled: Filled) -> None:
    filled.world.alpha.delete()
    assert list(Rule.objects.filter(projects=None)) == [filled.to_all]
    for model in (Channel, Silence, MaintenanceWindow):
        assert not model.objects.filter(projects=None).exists()
        assert model.objects.count() == 1
