"""What an owner can't do to what is of other projects, nor learn of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from observatory.alerts.models import Alert, Condition, Delivery, Rule
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Sample, Series
from tests.alerts.admin.forms import LOST, MEMORY, rule_form
from tests.alerts.admin.owner_pages import (
    ADMIN,
    RULES,
    change,
    everything,
    rows,
    saved_rule,
)
from tests.alerts.setup import Setups
from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded


def test_nothing_of_others_is_changed_by_their_ids(world: World, owner: Client, setups: Setups) -> None:
    before = everything()
    for other in (setups.beta, setups.shared, setups.everywhere):
        for item in (other.rule, other.channel, other.delivery, other.silence, other.window):
            place = f"{ADMIN}{item._meta.model_name}/{item.pk}"
            sent = saved_rule(item, projects=[world.alpha.pk]) if item == other.rule else {"name": "x"}
            for query in ("", "?_popup=1", "?_to_field=id&_popup=1", "?_changelist_filters=q%3D1"):
                for data in (sent, sent | {"_popup": "1", "_to_field": "name"}):
                    answer = owner.post(f"{place}/change/{query}", data)
                    assert answer.status_code in (302, 400, 403), answer.status_code
                    assert b"of beta" not in answer.content
            assert owner.post(f"{place}/delete/", {"post": "yes"}).status_code in (302, 403)
            kind = f"/delete/{item._meta.model_name}/{item.pk}/"
            assert owner.post(kind, {"name": str(item)}).status_code == 404
        assert owner.post(f"{RULES}{other.rule.pk}/reset/").status_code == 404
    assert everything() == before
    assert not LogEntry.objects.exists()


def test_saving_as_new_from_the_id_of_others_copies_nothing(
    owner: Client, world: World, setups: Setups
) -> None:
    """Django takes it for adding what was sent, whatever the id."""
    theirs, before = setups.beta.rule, everything()
    crafted = LOST | {"id": theirs.conditions.get().pk, "rule": theirs.pk}
    sent = rule_form(crafted, name="new", projects=[world.alpha.pk], _saveasnew="1")
    assert owner.post(change(theirs), sent).status_code == 302
    made = Rule.objects.get(name="new")
    assert (list(made.projects.all()), made.description) == ([world.alpha], "")
    assert [condition.metric for condition in made.conditions.all()] == [""]
    made.delete()
    assert everything() == before


def test_conditions_of_others_are_not_taken_over(owner: Client, world: World, setups: Setups) -> None:
    """By the id of a condition of another rule, or by another rule's id in the owner's own form."""
    mine, theirs = setups.alpha.rule, setups.beta.rule.conditions.get()
    before = rows(Condition)
    for crafted in (
        {"id": theirs.pk, "rule": mine.pk},
        {"id": theirs.pk, "rule": setups.beta.rule.pk},
        {"id": theirs.pk, "rule": mine.pk, "DELETE": "on"},
        {"id": mine.conditions.get().pk, "rule": setups.beta.rule.pk},
    ):
        sent = rule_form(MEMORY | crafted, name=mine.name, projects=[world.alpha.pk])
        assert owner.post(change(mine), sent).status_code in (200, 302), crafted
        assert rows(Condition) == before, crafted


@pytest.mark.parametrize("action", ["delete_selected", "export_selected", "retry", "expire_now"])
def test_actions_do_nothing_to_selected_ids_of_others(owner: Client, setups: Setups, action: str) -> None:
    before = everything()
    for other in (setups.beta, setups.shared, setups.everywhere):
        for item in (other.rule, other.channel, other.delivery, other.silence, other.window):
            for across in "0", "1":
                sent = {"action": action, "_selected_action": [item.pk], "post": "yes"}
                sent |= {"select_across": across}
                path = f"{ADMIN}{item._meta.model_name}/?q=beta"
                answer = owner.post(path, sent, follow=True)
                assert b"rule of beta" not in answer.content
    assert everything() == before


def test_a_rule_of_others_is_not_disabled_by_its_id_in_the_list(owner: Client, setups: Setups) -> None:
    before = rows(Rule)
    theirs, mine = setups.beta.rule, setups.alpha.rule
    for number, ids in enumerate(([theirs.pk], [theirs.pk, mine.pk], [99_999])):
        form: dict[str, Any] = {"form-TOTAL_FORMS": len(ids), "form-INITIAL_FORMS": len(ids), "_save": "Save"}
        form |= {f"form-{place}-id": pk for place, pk in enumerate(ids)}
        answer = owner.post(RULES, form)
        assert b"of beta" not in answer.content, number
    Rule.objects.filter(pk=mine.pk).update(enabled=True, changed=setups.alpha.rule.changed)
    assert rows(Rule) == before


@pytest.mark.parametrize(
    "query",
    [
        "projects__name__startswith=B",
        "projects__slug=beta",
        "projects__memberships__user__username__startswith=p",
        "projects__ingest_tokens__digest__startswith=a",
        "created_by__password__startswith=p",
        "created_by__username__startswith=o",
        "alerts__deliveries__channel__name__startswith=channel",
        "channel__secret__startswith=a",
        "targets__project__name=Beta",
        "targets__secret__startswith=a",
    ],
)
def test_lists_are_not_filtered_by_what_other_models_have(owner: Client, setups: Setups, query: str) -> None:
    assert owner.get(f"{RULES}?{query}").status_code in (400, 302)


@pytest.mark.parametrize(
    "query", ["projects__id__exact={beta}", "all=", "q=beta", "o=1.2.-3", "id__gt=0", "p=99"]
)
def test_no_filter_search_or_order_shows_rules_of_others(
    owner: Client, world: World, setups: Setups, query: str
) -> None:
    shown = owner.get(f"{RULES}?{query.format(beta=world.beta.pk)}", follow=True).content.decode()
    for name in ("rule of beta", "rule of both", "rule of everywhere", "Beta"):
        assert name not in shown


@pytest.mark.parametrize(
    "field",
    [
        ("alerts", "rule", "projects"),
        ("alerts", "rule", "targets"),
        ("alerts", "rule", "created_by"),
        ("alerts", "channel", "rules"),
        ("alerts", "delivery", "alert"),
        ("alerts", "delivery", "channel"),
        ("clusters", "membership", "user"),
        ("clusters", "cluster", "project"),
        ("auth", "user", "groups"),
    ],
)
def test_autocompletes_offer_nothing_of_others(
    owner: Client, setups: Setups, field: tuple[str, str, str]
) -> None:
    app, model, name = field
    query = {"app_label": app, "model_name": model, "field_name": name, "term": ""}
    answer = owner.get("/admin/autocomplete/", query)
    assert answer.status_code in (200, 403)
    for word in (b"beta", b"Beta", b"of both"):
        assert word not in answer.content


def test_what_is_deleted_is_counted_and_not_listed(owner: Client, world: World, setups: Setups) -> None:
    """The rule was for Beta before: its alerts there are not Alpha's."""
    theirs = Alert.objects.get(cluster=world.elsewhere)
    Alert.objects.filter(pk=theirs.pk).update(rule=setups.alpha.rule)
    Delivery.objects.filter(pk=setups.beta.delivery.pk).update(channel=setups.alpha.channel)
    for item in (setups.alpha.rule, setups.alpha.channel):
        place = f"{ADMIN}{item._meta.model_name}/"
        sent = {"action": "delete_selected", "_selected_action": [item.pk]}
        for answer in (owner.get(f"{place}{item.pk}/delete/", follow=True), owner.post(place, sent)):
            assert str(item) in answer.content.decode()
            assert b"of beta" not in answer.content
    assert b"of beta" not in owner.get(f"{ADMIN}delivery/").content
    assert b"of alpha" in owner.get(f"{ADMIN}delivery/").content


def test_an_imported_file_tells_nothing_of_other_projects(
    owner: Client, world: World, setups: Setups
) -> None:
    url = reverse("admin:alerts_rule_import_from_prometheus")
    text = "groups: [{name: g, rules: [{alert: 'rule of beta', expr: 'observatory_cluster_workers > 1'}]}]"
    before = Rule.objects.count()
    for projects in [], [world.beta.pk], [world.alpha.pk, world.beta.pk]:
        assert b"Beta" not in owner.post(url, {"text": text, "projects": projects}).content
    assert Rule.objects.count() == before
    answer = owner.post(url, {"text": text, "projects": [world.alpha.pk]})
    assert b"a rule with this name exists" not in answer.content
    assert list(Rule.objects.latest("pk").projects.all()) == [world.alpha]


def test_labels_and_metrics_of_other_projects_are_not_told(
    memory: Recorded, owner: Client, world: World
) -> None:
    """`memory` is recorded in a cluster of Alpha: what its outsider, who owns Beta, is told of it."""
    secret = Series("team_secret", (("customer", "hidden-one"),), "")
    with Writer() as writer:
        writer.write(Batch.of(memory.cluster, [], [], [Sample(secret, START + 1, 3.0)]))
    outsider = world.client("outsider")
    wrong = {"metric": "team_secret", "labels": 'customer="x"', "other": "", "other_attribute": ""}
    wrong |= {"by": "cluster", "threshold": "1", "clear_threshold": ""}
    path = f"{RULES}back-test/"
    for client, project, word in (owner, world.alpha, True), (outsider, world.beta, False):
        sent = rule_form(MEMORY | wrong, projects=[project.pk], **{"back-test-window": "hour"})
        for answer in (client.post(path, sent), client.post(f"{RULES}add/", sent)):
            assert (b"hidden-one" in answer.content) is word, answer.content[-300:]
        assert (b"team_secret" in client.get(f"{RULES}metrics/").content) is word
    assert b'"full"' not in outsider.get(f"{RULES}metrics/").content
