"""Rules in the admin: made, refused, listed, reset, and by whom."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils.timezone import now

from observatory.alerts.models import Alert, Condition, Rule
from observatory.alerts.rules import ready_made
from tests.alerts.admin.forms import BLANK, LOST, MEMORY, rule_form
from tests.support.projects import World

ADD = "/admin/alerts/rule/add/"
LIST = "/admin/alerts/rule/"
GIB = 2**30
RULES = ("rule", "condition")


@pytest.fixture
def admin(world: World) -> Client:
    return world.client("superuser")


def page_of(rule: Rule) -> str:
    return f"{LIST}{rule.pk}/change/"


def made(client: Client, *conditions: dict[str, Any], **fields: Any) -> Rule:
    """A rule that was made by the form."""
    answer = client.post(ADD, rule_form(*conditions, **fields))
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    return Rule.objects.latest("pk")


def saved(rule: Rule, **changed: Any) -> dict[str, Any]:
    """The form of a saved rule whose first condition is MEMORY but for what is changed."""
    condition = rule.conditions.get()
    return rule_form(MEMORY | {"id": condition.pk, "rule": rule.pk} | changed, name=rule.name)


def test_a_rule_is_created_from_the_form(admin: Client, world: World) -> None:
    rule = made(admin, hold_seconds="1 min 30 s", projects=[world.alpha.pk], cluster_names="etl-*")
    assert (rule.hold_seconds, rule.created_by) == (90, world.people["superuser"])
    assert list(rule.projects.all()) == [world.alpha]
    condition = rule.conditions.get()
    assert (condition.metric, condition.labels) == ("observatory_worker_memory_bytes", 'type="process"')
    assert (condition.threshold, condition.clear_threshold) == (pytest.approx(0.8), pytest.approx(0.7))


def test_a_threshold_is_in_the_unit_of_the_compared_value(admin: Client) -> None:
    rule = made(admin, MEMORY | {"other": "", "threshold": "2 GiB", "clear_threshold": ""})
    assert rule.conditions.get().threshold == 2 * GIB
    shown = admin.get(page_of(rule)).content.decode()
    assert 'value="2 GiB"' in shown


def test_an_event_needs_no_threshold(admin: Client) -> None:
    rule = made(admin, LOST | {"count": "3", "window_seconds": "5 min"})
    condition = rule.conditions.get()
    assert (condition.kind, condition.event) == ("event", "worker-lost")
    assert (condition.count, condition.window_seconds) == (3, 300)


@pytest.mark.parametrize(
    ("wrong", "field", "words"),
    [
        ({"metric": "no_such_metric"}, "metric", "no_such_metric"),
        ({"labels": "type=process"}, "labels", "name="),
        ({"labels": 'type=~"("'}, "labels", "regular expression"),
        ({"threshold": ""}, "threshold", "Enter a threshold"),
        ({"threshold": "a lot"}, "threshold", "a lot"),
        ({"threshold": "4 GiB"}, "threshold", "%"),
        ({"other": "metric", "other_metric": ""}, "other_metric", "metric"),
        ({"other_attribute": ""}, "other_attribute", "Choose the attribute"),
        (
            {"metric": "observatory_cluster_tasks", "labels": "", "by": "series"},
            "other_attribute",
            "worker",
        ),
        ({"window_seconds": "soon"}, "window_seconds", "soon"),
        ({"clear_threshold": "90 %"}, "clear_threshold", "threshold"),
    ],
)
def test_an_invalid_rule_is_rejected_with_errors_at_its_fields(
    admin: Client, wrong: dict[str, str], field: str, words: str
) -> None:
    before = Rule.objects.count()
    answer = admin.post(ADD, rule_form(MEMORY | wrong))
    assert answer.status_code == 200
    [formset] = (inline.formset for inline in answer.context["inline_admin_formsets"])
    assert list(formset.errors[0]) == [field], formset.errors
    assert words in str(formset.errors[0][field])
    assert words in answer.content.decode()
    assert Rule.objects.count() == before


def test_a_rule_needs_a_condition(admin: Client) -> None:
    answer = admin.post(ADD, rule_form(BLANK))
    assert "A rule needs a condition." in answer.content.decode()


def test_a_changed_rule_is_evaluated_from_the_change_on(admin: Client) -> None:
    rule = made(admin)
    long_ago = now() - timedelta(days=3)
    Rule.objects.filter(pk=rule.pk).update(changed=long_ago, error="no", error_time=long_ago)
    assert admin.post(page_of(rule), saved(rule) | {"name": "Another name"}).status_code == 302
    rule.refresh_from_db()
    assert (rule.name, rule.changed, rule.error) == ("Another name", long_ago, "no")
    assert admin.post(page_of(rule), saved(rule, threshold="85 %")).status_code == 302
    rule.refresh_from_db()
    assert rule.changed > long_ago
    assert rule.error == ""


def test_conditions_keep_their_order_when_added_and_removed(admin: Client) -> None:
    rule = made(admin)
    first = MEMORY | {"id": rule.conditions.get().pk, "rule": rule.pk}
    second = MEMORY | {"threshold": "60 %", "clear_threshold": ""}
    assert admin.post(page_of(rule), rule_form(first, second)).status_code == 302
    assert [condition.threshold for condition in rule.conditions.all()] == [
        pytest.approx(0.8),
        pytest.approx(0.6),
    ]
    kept = second | {"id": rule.conditions.last().pk, "rule": rule.pk}  # type: ignore[union-attr]
    assert admin.post(page_of(rule), rule_form(first | {"DELETE": "on"}, kept)).status_code == 302
    assert rule.conditions.get().threshold == pytest.approx(0.6)


def test_a_ready_made_rule_is_marked_and_can_be_reset(admin: Client) -> None:
    ready_made.make()
    rule = Rule.objects.exclude(key="").filter(conditions__kind="metric")[0]
    threshold = rule.conditions.all()[0].threshold
    assert "ready-made" in admin.get(LIST).content.decode()
    rule.conditions.update(threshold=12345)
    page = admin.get(page_of(rule)).content.decode()
    assert "Reset to its defaults" in page
    assert admin.get(f"{LIST}{rule.pk}/reset/").status_code == 405
    assert admin.post(f"{LIST}{rule.pk}/reset/").status_code == 302
    assert rule.conditions.all()[0].threshold == threshold


def test_a_custom_rule_cannot_be_reset(admin: Client) -> None:
    rule = made(admin)
    assert "Reset to its defaults" not in admin.get(page_of(rule)).content.decode()
    assert admin.post(f"{LIST}{rule.pk}/reset/").status_code == 404


def test_the_list_shows_firing_counts_and_errors(admin: Client, world: World) -> None:
    rule = made(admin)
    for number, state in enumerate(("firing", "resolved", "pending")):
        fired = None if state == "pending" else now() - timedelta(hours=1)
        Alert.objects.create(
            rule=rule,
            cluster=world.live,
            severity="warning",
            fingerprint=str(number),
            state=state,
            pending=now() - timedelta(hours=2),
            fired=fired,
        )
    Rule.objects.filter(pk=rule.pk).update(error="Division by a label mismatch", error_time=now())
    answer = admin.get(f"{LIST}?q=Memory of workers")
    [listed] = answer.context["cl"].result_list
    assert (listed.firing_count, listed.fired_count) == (1, 2)
    assert "Division by a label mismatch" in answer.content.decode()
    assert "Division by a label mismatch" in admin.get(page_of(rule)).content.decode()


def test_rules_are_disabled_in_the_list(admin: Client) -> None:
    rule = made(admin)
    before = rule.changed
    form = {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": rule.pk, "_save": "Save"}
    assert admin.post(f"{LIST}?q=Memory of workers", form).status_code == 302
    rule.refresh_from_db()
    assert not rule.enabled
    assert rule.changed > before


@pytest.fixture
def staff(world: World) -> Client:
    """Of the owner of Alpha, who may set rules but not all of them."""
    owner = world.people["owner"]
    owner.is_staff = True
    owner.save()
    of_rules = Permission.objects.filter(content_type__app_label="alerts", content_type__model__in=RULES)
    owner.user_permissions.set(of_rules)
    client = Client()
    client.force_login(User.objects.get(pk=owner.pk))
    return client


def test_staff_edit_only_rules_of_projects_that_they_manage(
    admin: Client, staff: Client, world: World
) -> None:
    theirs = made(admin, name="of Alpha", projects=[world.alpha.pk])
    shared = made(admin, name="of Alpha and Beta", projects=[world.alpha.pk, world.beta.pk])
    everywhere = made(admin, name="of all")
    listed = staff.get(LIST).context["cl"].result_list
    assert [rule.name for rule in listed] == ["of Alpha"]
    assert staff.get(page_of(theirs)).status_code == 200
    for rule in (shared, everywhere):
        assert staff.get(page_of(rule)).status_code == 302
    for projects, field in ([], "required"), ([world.beta.pk], "not one of the available"):
        answer = staff.post(ADD, rule_form(name="more", projects=projects))
        assert field in str(answer.context["adminform"].form.errors["projects"])
    assert staff.post(ADD, rule_form(name="more", projects=[world.alpha.pk])).status_code == 302


def test_conditions_of_hostile_text_are_shown_as_text(admin: Client) -> None:
    rule = made(admin)
    hostile = "</script><img src=x onerror=alert(1)>"
    Condition.objects.filter(rule=rule).update(labels=hostile)
    Rule.objects.filter(pk=rule.pk).update(name=hostile, error=hostile)
    for path in (page_of(rule), LIST):
        assert hostile not in admin.get(path).content.decode()


def test_a_doubtful_rule_is_saved_with_a_warning_that_its_page_repeats(admin: Client) -> None:
    answer = admin.post(ADD, rule_form(MEMORY | {"labels": ""}), follow=True)
    rule = Rule.objects.latest("pk")
    words = "type, which don&#x27;t add up"
    assert words in answer.content.decode()
    page = admin.get(page_of(rule)).content.decode()
    assert words in page
    assert "<code>type=&quot;process&quot;</code>" in page
    assert words not in admin.get(page_of(made(admin, name="clear"))).content.decode()
