"""Owners of a project in the admin: what they set up by their role, and what they try on other projects."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from observatory.alerts.models import Channel, Delivery, Rule
from observatory.alerts.rules import ready_made
from observatory.alerts.web import access
from observatory.clusters.accounts.groups import set_memberships
from observatory.clusters.accounts.models import GroupRole, Membership
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.models import Target
from tests.alerts.admin.forms import LOST, MEMORY, rule_form
from tests.alerts.admin.owner_pages import (
    ADMIN,
    CHANNELS,
    RULES,
    change,
    errors,
    everything,
    saved_rule,
)
from tests.alerts.admin.test_channels import form as channel_form
from tests.alerts.setup import Setups
from tests.support.projects import World
from tests.support.recorded_cluster import Recorded


def test_an_owner_sets_up_rules_and_channels_by_role_alone(world: World, owner: Client) -> None:
    assert not world.people["owner"].is_staff
    assert not world.people["owner"].user_permissions.exists()
    alpha = [world.alpha.pk]
    assert owner.post(f"{RULES}add/", rule_form(name="mine", projects=alpha)).status_code == 302
    rule = Rule.objects.get(name="mine")
    assert (list(rule.projects.all()), rule.created_by) == ([world.alpha], world.people["owner"])
    assert owner.post(change(rule), saved_rule(rule, projects=alpha, severity="critical")).status_code == 302
    rule.refresh_from_db()
    assert rule.severity == "critical"
    chosen = channel_form(name="mine", projects=alpha, rules=[rule.pk])
    assert owner.post(f"{CHANNELS}add/", chosen).status_code == 302
    channel = Channel.objects.get(name="mine")
    assert list(channel.rules.all()) == [rule]
    for item, path in (channel, CHANNELS), (rule, RULES):
        asks = owner.get(f"{path}{item.pk}/delete/", follow=True)
        assert owner.post(asks.request["PATH_INFO"], {"name": "mine"}).status_code == 302
        assert Deletion.objects.filter(subject=item.pk, asked_by=world.people["owner"]).exists()


def test_a_new_rule_begins_with_the_only_project_that_one_owns(world: World, owner: Client) -> None:
    form = owner.get(f"{RULES}add/").context["adminform"].form
    assert list(form["projects"].initial) == [world.alpha]
    assert list(form.fields["projects"].queryset) == [world.alpha]
    assert list(form.fields["targets"].queryset) == [world.target]


def test_the_role_counts_from_the_next_request_on_and_no_longer(
    world: World, owner: Client, setups: Setups
) -> None:
    pages = ("/admin/", RULES, f"{RULES}add/", change(setups.alpha.rule), f"{RULES}metrics/")
    membership = Membership.objects.get(user=world.people["owner"])
    for role, status in ("editor", 302), ("owner", 200), ("viewer", 302):
        membership.role = role
        membership.save()
        assert [owner.get(page).status_code for page in pages] == [status] * len(pages), role
    membership.delete()
    before = everything()
    assert owner.post(change(setups.alpha.rule), saved_rule(setups.alpha.rule)).status_code == 302
    assert everything() == before


def test_the_role_is_lost_while_the_account_is_deactivated(world: World, owner: Client) -> None:
    person = world.people["owner"]
    person.is_active = False
    person.save()
    assert owner.get(RULES).status_code == 302


def test_groups_open_and_close_the_admin(world: World, setups: Setups) -> None:
    person, client = world.people["nobody"], world.client("nobody")
    GroupRole.objects.create(group="leads", project=world.alpha, role="owner")
    set_memberships(person, ["leads"])
    assert b"rule of alpha" in client.get(RULES).content
    set_memberships(person, ["others"])
    assert client.get(RULES).status_code == 302


def test_an_owner_moves_rules_and_channels_only_between_projects_of_theirs(
    world: World, owner: Client, setups: Setups
) -> None:
    before = everything()
    rule, channel = setups.alpha.rule, setups.alpha.channel
    for projects in [], [world.beta.pk], [world.alpha.pk, world.beta.pk], [99_999]:
        for answer in (
            owner.post(change(rule), saved_rule(rule, projects=projects)),
            owner.post(f"{RULES}add/", rule_form(name="more", projects=projects)),
            owner.post(change(channel), channel_form(name=channel.name, address="", projects=projects)),
            owner.post(f"{CHANNELS}add/", channel_form(name="more", projects=projects)),
        ):
            assert "projects" in errors(answer), projects
    target = Target.objects.get(project=world.beta)
    for pk in (target.pk, 99_999):  # an id of others is refused as one that doesn't exist
        sent = saved_rule(rule, projects=[world.alpha.pk], targets=[pk])
        text = f"Select a valid choice. {pk} is not one of the available choices."
        assert errors(owner.post(change(rule), sent))["targets"] == [text]
    chosen = channel_form(name="more", projects=[world.alpha.pk], rules=[setups.beta.rule.pk])
    assert "rules" in errors(owner.post(f"{CHANNELS}add/", chosen))
    assert everything() == before

    Membership.objects.create(project=world.beta, user=world.people["owner"], role="owner")
    assert owner.post(change(rule), saved_rule(rule, projects=[world.beta.pk])).status_code == 302
    assert list(rule.projects.all()) == [world.beta]


def test_an_owner_sends_only_their_own_deliveries_again(owner: Client, setups: Setups) -> None:
    ids = [setups.alpha.delivery.pk, setups.beta.delivery.pk, setups.everywhere.delivery.pk]
    owner.post(f"{ADMIN}delivery/", {"action": "retry", "_selected_action": ids})
    assert [Delivery.objects.get(pk=pk).state for pk in ids] == ["due", "failed", "failed"]


def test_rules_and_channels_of_two_projects_may_have_one_name(
    owner: Client, world: World, setups: Setups
) -> None:
    """A refusal would tell which names other projects have."""
    alpha = [world.alpha.pk]
    assert owner.post(f"{RULES}add/", rule_form(name="rule of beta", projects=alpha)).status_code == 302
    named = channel_form(name="channel of beta", projects=alpha)
    assert owner.post(f"{CHANNELS}add/", named).status_code == 302
    for name in ("rule of alpha", "rule of everywhere", "rule of both"):
        answer = owner.post(f"{RULES}add/", rule_form(name=name, projects=alpha))
        assert errors(answer) == {"name": ["A rule with this name exists."]}
    answer = owner.post(f"{CHANNELS}add/", channel_form(name="channel of alpha", projects=alpha))
    assert errors(answer) == {"name": ["A channel with this name exists."]}
    admin = world.client("superuser")
    assert "name" in errors(admin.post(f"{RULES}add/", rule_form(name="rule of beta")))


def test_a_name_that_is_a_number_or_is_given_twice_deletes_nothing_of_others(
    owner: Client, world: World, setups: Setups
) -> None:
    mine, theirs = setups.alpha.rule, setups.beta.rule
    Rule.objects.filter(pk=mine.pk).update(name=str(theirs.pk))
    outsider = world.client("outsider")
    assert b"rule of beta" in outsider.get(f"/delete/rule/{theirs.pk}/").content
    assert owner.get(f"/delete/rule/{theirs.pk}/").status_code == 404
    Rule.objects.filter(pk=mine.pk).update(name="rule of beta")
    assert outsider.get("/delete/rule/rule of beta/").status_code == 200
    assert world.client("superuser").get("/delete/rule/rule of beta/").status_code == 404
    with pytest.raises(CommandError, match="several have the name"):
        call_command("delete", "rule", "rule of beta", "--yes")


def test_an_owner_makes_no_more_rules_and_channels_than_all_can_bear(
    owner: Client, world: World, setups: Setups, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules are evaluated, and channels asked, in the processes of all projects."""
    monkeypatch.setattr(access, "MOST_RULES", 2)
    monkeypatch.setattr(access, "MOST_CHANNELS", 2)
    url, alpha = reverse("admin:alerts_rule_import_from_prometheus"), [world.alpha.pk]
    rules = ", ".join(f"{{alert: r{n}, expr: 'observatory_cluster_workers > 1'}}" for n in range(3))
    imported = owner.post(url, {"text": f"groups: [{{name: g, rules: [{rules}]}}]", "projects": alpha})
    assert b"What you manage has 2 rules, the maximum" in imported.content
    assert Rule.objects.filter(projects=world.alpha).exclude(projects=world.beta).count() == 2
    answer = owner.post(f"{RULES}add/", rule_form(name="more", projects=alpha))
    assert "2 rules, the maximum" in str(errors(answer))
    assert (
        owner.post(change(setups.alpha.rule), saved_rule(setups.alpha.rule, projects=alpha)).status_code
        == 302
    )
    assert owner.post(f"{CHANNELS}add/", channel_form(name="second", projects=alpha)).status_code == 302
    answer = owner.post(f"{CHANNELS}add/", channel_form(name="third", projects=alpha))
    assert "2 channels, the maximum" in str(errors(answer))
    superuser = world.client("superuser")
    assert superuser.post(f"{RULES}add/", rule_form(name="more", projects=alpha)).status_code == 302


@pytest.mark.parametrize("role", ["owner", "outsider"])
def test_back_tests_and_suggestions_are_on_clusters_of_owned_projects(
    memory: Recorded, world: World, role: str
) -> None:
    """Also for an owner of Beta who only reads Alpha."""
    Membership.objects.create(project=world.alpha, user=world.people["outsider"], role="viewer")
    client = world.client(role)
    is_owner = role == "owner"
    places = client.get(f"{RULES}places/").json()
    assert {place["of"] for place in places["clusters"]} == {"Alpha" if is_owner else "Beta"}
    assert bool(places["runs"]) is is_owner
    chosen = {"back-test-window": "custom", "back-test-start": 1, "back-test-stop": 2}
    for fields in ({"projects": [world.alpha.pk]}, {"back-test-clusters": [world.ended.pk]}):
        sent = rule_form(LOST, **chosen, **fields)
        assert client.post(f"{RULES}back-test/", sent).status_code == (200 if is_owner else 422)
    sent = rule_form(MEMORY, recent="conditions-0", cluster_names="evening")
    assert bool(client.post(f"{RULES}recent/", sent).json()["series"]) is is_owner


def test_rules_on_observatory_itself_are_of_superusers(owner: Client, world: World) -> None:
    """They would apply to it whatever their projects are, and tell how many alerts of it fire."""
    own = {"metric": "observatory_refused_agents", "by": "cluster", "labels": "", "threshold": "1"}
    own |= {"other": "", "other_attribute": "", "clear_threshold": ""}
    sent = rule_form(MEMORY | own, projects=[world.alpha.pk])
    answer = owner.post(f"{RULES}add/", sent)
    assert b"No cluster has reported a metric" in answer.content
    assert owner.get(f"{RULES}metrics/").content.count(b"observatory_refused_agents") == 0
    assert world.client("superuser").post(f"{RULES}add/", sent).status_code == 302


def test_a_ready_made_rule_that_was_given_to_a_project_is_reset_within_it(
    owner: Client, world: World
) -> None:
    ready_made.make()
    rule = Rule.objects.get(key="worker-memory")
    assert owner.post(f"{RULES}{rule.pk}/reset/").status_code == 404
    rule.projects.add(world.alpha)
    assert owner.post(f"{RULES}{rule.pk}/reset/").status_code == 302
    assert list(rule.projects.all()) == [world.alpha]


def test_passwords_are_changed_on_the_page_of_accounts(owner: Client, settings: Any) -> None:
    assert b"id_old_password" not in owner.get("/admin/password_change/").content
    settings.PASSWORD_SIGN_IN = False
    for client_path in ("/admin/password_change/", "/account/password/"):
        assert owner.get(client_path).status_code == 403


def test_pages_lead_owners_to_what_they_may_change(owner: Client, world: World, setups: Setups) -> None:
    alerts = {name: getattr(setups, name).delivery.alert for name in ("alpha", "shared", "everywhere")}
    for name, alert in alerts.items():
        page = owner.get(f"/alerts/{alert.pk}/").content.decode()
        assert ("Edit the rule" in page) is (name == "alpha"), name
        assert "Edit the rule" not in world.client("editor").get(f"/alerts/{alert.pk}/").content.decode()
        assert "Edit the rule" in world.client("superuser").get(f"/alerts/{alert.pk}/").content.decode()
    for role, leads in ("owner", True), ("superuser", True), ("editor", False), ("viewer", False):
        page = world.client(role).get("/alerts/").content.decode()
        for path in ("/admin/", RULES, CHANNELS):
            assert (f'href="{path}"' in page) is leads, (role, path)
        page = world.client(role).get(f"/clusters/{world.live.pk}/").content.decode()
        assert ("data-new-rule" in page) is leads, role
    page = owner.get(f"/clusters/{world.live.pk}/").content.decode()
    assert f"projects={world.alpha.pk}" in page
    Membership.objects.create(project=world.beta, user=world.people["owner"], role="viewer")
    assert "data-new-rule" not in owner.get(f"/clusters/{world.elsewhere.pk}/").content.decode()
