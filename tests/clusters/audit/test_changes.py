"""Triggers note what changes, whatever statement changes it, with who did it and from where."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils.timezone import now

from observatory.alerts.models import Channel, MaintenanceWindow, Rule, Silence
from observatory.clusters.accounts.models import Membership
from observatory.clusters.deletion import deletions
from observatory.clusters.deletion.kind import kinds
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.models import AuditEntry, Cluster, Project, Target
from observatory.clusters.tokens import access_tokens, ingest_tokens
from observatory.exchange.models import Receiver
from observatory.runs.models import Note, Permalink, Run
from observatory.store.audit.actor import Actor, acting
from observatory.store.audit.entries import remove_older
from observatory.store.audit.subjects import EVERY_OPERATION, SECRET, is_noted, noted_models, subjects
from tests.support.projects import HOSTILE, World

pytestmark = pytest.mark.django_db
Entries = list[AuditEntry]


MADE: list[tuple[Any, dict[str, Any]]] = [
    (Rule, {"name": "memory", "severity": "warning"}),
    (Channel, {"name": "chat", "kind": "webhook", "secret": "address"}),
    (Receiver, {"name": "traces", "kind": "otlp", "secret": "address"}),
    (Silence, {"matchers": 'rule="memory"', "expires": now()}),
    (MaintenanceWindow, {"name": "night", "starts": now(), "stops": now() + timedelta(hours=1)}),
]
"""what is in several projects"""


def entries(**wanted: Any) -> Entries:
    return list(AuditEntry.objects.filter(**wanted).order_by("pk"))


def the_entry(**wanted: Any) -> AuditEntry:
    [entry] = entries(**wanted)
    return entry


def test_a_token_that_is_made_and_revoked_on_a_page_is_noted_with_person_and_address(world: World) -> None:
    owner = world.client("owner")
    owner.post("/projects/alpha/tokens/", {"name": HOSTILE}, REMOTE_ADDR="203.0.113.7")
    token = world.alpha.ingest_tokens.get()
    made = the_entry(kind="ingest token", action="make")
    assert (made.actor_kind, made.actor_name, made.actor_id) == ("person", "owner", world.people["owner"].pk)
    assert (made.address, made.door) == ("203.0.113.7", "page")
    assert (made.subject, made.subject_id, made.projects) == (HOSTILE, str(token.pk), [world.alpha.pk])
    assert token.digest not in json.dumps(made.changes)
    owner.post(f"/projects/alpha/tokens/{token.pk}/revoke/")
    revoked = the_entry(kind="ingest token", action="revoke")
    assert revoked.changes["revoked"][0] is None
    assert revoked.changes["revoked"][1]


def test_a_program_with_an_access_token_is_noted_with_the_token_and_its_person(world: World) -> None:
    token, secret = access_tokens.make(world.people["editor"], "ci", None, ["targets"])
    answer = Client().patch(
        f"/api/v1/targets/{world.target.pk}",
        json.dumps({"metrics_interval": 9}),
        "application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert answer.status_code == 200, answer.content
    changed = the_entry(kind="target", action="change")
    assert changed.changes == {"metrics_interval": [5, 9]}
    assert (changed.actor_kind, changed.actor_name, changed.door) == ("token", "editor", "API")
    assert changed.token == str(token)
    assert secret not in json.dumps(changed.changes) + changed.token


def test_a_change_that_is_taken_back_is_not_noted(world: World) -> None:
    before = AuditEntry.objects.count()
    with transaction.atomic():
        Project.objects.filter(pk=world.alpha.pk).update(name="Gamma")
        assert AuditEntry.objects.count() == before + 1
        transaction.set_rollback(True)
    assert AuditEntry.objects.count() == before


def test_secrets_are_noted_as_hidden_and_that_they_changed_is_told(world: World) -> None:
    Target.objects.create(project=world.alpha, name="t", url="http://a:1")
    with acting(lambda: Actor("person", "owner")):
        Target.objects.filter(name="t").update(secret="encrypted-1")
        Target.objects.filter(name="t").update(secret="encrypted-2")
    found = [entry.changes for entry in entries(kind="target", action="change")]
    assert found == [{"secret": [None, "hidden"]}, {"secret": ["hidden", "hidden"]}] or found == [
        {"secret": ["", "hidden"]},
        {"secret": ["hidden", "hidden"]},
    ]
    world.people["owner"].set_password("a-new-password-of-the-owner")
    world.people["owner"].save()
    changed = the_entry(kind="person", action="change", subject="owner")
    assert changed.changes == {"password": ["hidden", "hidden"]}
    texts = [json.dumps(entry.changes) for entry in entries()]
    assert not [text for text in texts if "encrypted-" in text or "pbkdf2" in text]


def test_what_the_collector_and_clients_change_all_the_time_is_not_noted(world: World) -> None:
    before = AuditEntry.objects.count()
    Target.objects.filter(pk=world.target.pk).update(last_seen=now(), clock_offset=3.0, last_error="away")
    world.live.last_seen = now()
    world.live.save()
    Run.objects.filter(pk=world.run.pk).update(name="found anew", counted=now())
    Permalink.objects.update(opened=4)
    assert AuditEntry.objects.count() == before


def test_many_rows_that_one_statement_changes_are_one_entry(world: World) -> None:
    links = [Permalink(run=world.run, digest=f"{number:064}") for number in range(300)]
    with acting(lambda: Actor("person", "owner", 1)):
        Permalink.objects.bulk_create(links)
        Permalink.objects.update(shows_logs=True)
        Permalink.objects.all().delete()
    found = [(entry.action, entry.rows, entry.projects) for entry in entries(kind="permalink")]
    assert found == [(action, 300, [world.alpha.pk]) for action in ("make", "change", "delete")]


def test_a_deletion_is_noted_once_whatever_goes_with_it(world: World) -> None:
    Permalink.objects.create(run=world.run, digest="1" * 64)
    owner = world.people["owner"]
    world.live.ended = now()
    world.live.save()
    before = AuditEntry.objects.count()
    with acting(lambda: Actor("person", "owner", owner.pk)):
        asked = deletions.note(kinds()["project"], world.alpha, owner, Deletion.Door.PAGE)
    deletions.perform(asked)
    new = entries()[before:]
    assert {entry.kind for entry in new} == {"deletion"}
    assert new[0].subject == "Alpha"
    assert new[0].projects == [world.alpha.pk]
    assert {entry.actor_id for entry in new} == {owner.pk}
    assert new[-1].changes["state"] == ["running", "done"]


def test_rules_channels_members_and_notes_are_noted_with_their_projects(world: World) -> None:
    rule = Rule.objects.create(name="memory", severity="warning")
    rule.projects.add(world.alpha)
    rule.enabled = not rule.enabled
    rule.save()
    assert the_entry(kind="rule", action="change").projects == [world.alpha.pk]
    assert the_entry(kind="rule: projects", action="make").subject == "memory"
    Channel.objects.create(name="chat", kind="webhook", secret="address")
    assert the_entry(kind="channel", action="make").changes["secret"] == [None, "hidden"]
    Membership.objects.filter(user=world.people["viewer"]).update(role="editor")
    member = the_entry(kind="member", action="change")
    assert member.changes == {"role": ["viewer", "editor"]}
    assert (member.subject, member.person_id) == ("viewer", world.people["viewer"].pk)
    Note.objects.create(cluster=world.live, time=now(), text=HOSTILE)
    assert the_entry(kind="note", action="make").projects == [world.alpha.pk]


def test_what_is_made_and_put_into_projects_in_one_transaction_is_read_by_their_owners(world: World) -> None:
    for model, values in MADE:
        kind = str(model._meta.verbose_name)
        with transaction.atomic():
            made = model.objects.create(**values)
            made.projects.set([world.alpha, world.beta])
        entry = the_entry(kind=kind, action="make")
        assert sorted(entry.projects) == sorted([world.alpha.pk, world.beta.pk]), kind
        read = world.client("owner").get("/api/v1/audit", {"kind": kind, "action": "make"})
        assert json.loads(read.content)["projects"] == ["alpha"]


@pytest.mark.django_db(transaction=True)
def test_what_is_put_into_a_project_later_stays_unread_by_its_owners(world: World) -> None:
    rule = Rule.objects.create(name="of all", severity="warning")
    rule.projects.add(world.alpha)
    assert the_entry(kind="rule", action="make").projects == []
    assert the_entry(kind="rule: projects", action="make").projects == [world.alpha.pk]


def test_a_change_without_a_person_is_of_observatory_itself(world: World) -> None:
    ingest_tokens.make(world.alpha, "by a shell", None)
    made = the_entry(kind="ingest token")
    assert (made.actor_kind, made.actor_name, made.address) == ("system", "", "")


def test_nobody_changes_or_deletes_an_entry(world: World) -> None:
    Project.objects.filter(pk=world.alpha.pk).update(name="Gamma")
    entry = entries()[-1]
    for statement in (
        lambda: AuditEntry.objects.filter(pk=entry.pk).update(actor_name="somebody else"),
        lambda: AuditEntry.objects.filter(pk=entry.pk).delete(),
    ):
        with pytest.raises(DatabaseError, match="not changed and not deleted"), transaction.atomic():
            statement()
    assert entries()[-1].pk == entry.pk


def test_a_long_value_is_cut(world: World) -> None:
    with acting(lambda: Actor("person", "owner")):
        Run.objects.filter(pk=world.run.pk).update(tags={"x": "y" * 50_000})
    assert len(json.dumps(the_entry(kind="run", action="change").changes)) < 2_000


def test_every_model_of_ours_is_noted_or_named_as_not_noted_and_no_secret_is_shown() -> None:
    for subject in subjects():
        shown = set(subject.columns) - set(subject.hidden)
        assert not [column for column in shown if SECRET.search(column)], subject.table
    noted = {model._meta.label for model in noted_models()}
    assert noted >= {"clusters.Project", "alerts.Rule", "alerts.Channel", "runs.Permalink", "auth.User"}
    assert apps.get_model("clusters.AuditEntry") not in set(noted_models())


def test_each_noted_table_has_its_triggers(world: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE tgname LIKE 'audit_%'")
        present = set(cursor.fetchall())
    wanted = {
        (subject.table, f"audit_{operation.lower()}")
        for subject in subjects()
        for operation in subject.operations
    }
    assert wanted <= present


def test_old_entries_go_after_the_days_of_their_setting(world: World) -> None:
    Project.objects.filter(pk=world.alpha.pk).update(name="Gamma")
    old = entries()[-1].pk
    middle = now()
    Project.objects.filter(pk=world.alpha.pk).update(name="Delta")
    assert remove_older(middle) >= 1
    assert [entry.changes["name"] for entry in entries(kind="project", action="change")] == [
        ["Gamma", "Delta"]
    ]
    assert not entries(pk=old)


def test_the_transaction_learns_who_acts_for_statements_that_are_noted_and_for_no_others(
    world: World,
) -> None:
    """An agent's batch writes when its cluster was heard: that takes three statements less."""
    asked: list[str] = []

    def find() -> Actor:
        asked.append("who")
        return Actor("person", "owner")

    made = {"scheduler_id": "Scheduler-of-the-agent", "started": now(), "last_seen": now()}
    with acting(find):
        cluster = Cluster.objects.create(project=world.alpha, name="etl", **made)
        Cluster.objects.update(last_seen=now())
        assert not asked
        Project.objects.filter(pk=world.alpha.pk).update(name="renamed")
        assert len(asked) == 1
        Cluster.objects.filter(pk=cluster.pk).delete()
    assert len(asked) > 1
    for subject in subjects():
        noted = {operation for operation in EVERY_OPERATION if is_noted(subject.table, operation)}
        assert noted >= set(subject.operations), subject.table
    assert is_noted("alerts_alert", "INSERT"), "it may update"
