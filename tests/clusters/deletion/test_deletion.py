"""Projects, clusters, rules, channels and people are deleted with all that is theirs, through every door."""

from __future__ import annotations

import io
import time
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from celery.contrib.testing.worker import start_worker
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils.timezone import now

from observatory.alerts.models import Channel, Delivery, MaintenanceWindow, Rule, Silence
from observatory.clusters.deletion.amounts import as_text, from_json, of_rows, summed
from observatory.clusters.deletion.kind import kinds
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.deletion.preview import preview
from observatory.clusters.models import Cluster, Project
from observatory.clusters.tasks import delete, resume_deletions
from observatory.clusters.tokens.models import IngestToken
from observatory.config.celery import app
from observatory.runs.models import Note, Permalink, Run
from tests.clusters.deletion.conftest import Filled, all_rows, files, own_of, records, store_rows
from tests.support.projects import HOSTILE, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

KINDS = ("project", "cluster", "rule", "channel", "person")
DOORS = ("page", "api", "command", "admin")
ADMIN = {
    "project": "clusters/project",
    "cluster": "clusters/cluster",
    "rule": "alerts/rule",
    "channel": "alerts/channel",
    "person": "auth/user",
}


def subject_of(filled: Filled, kind: str) -> Any:
    """What is deleted: everything in it belongs to Alpha."""
    world = filled.world
    return {
        "project": world.alpha,
        "cluster": world.ended,
        "rule": filled.rules["alpha"],
        "channel": filled.channels["alpha"],
        "person": world.people["editor"],
    }[kind]


def pass_through(door: str, filled: Filled, kind: str, subject: Any) -> Deletion:
    """Deletes as a superuser."""
    reference, client = kinds()[kind].reference_to(subject), filled.world.client("superuser")
    if door == "command":
        call_command("delete", kind, reference, "--yes", stdout=io.StringIO(), stderr=io.StringIO())
        return Deletion.objects.get()
    if door == "page":
        answer = client.post(f"/delete/{kind}/{reference}/", {"name": str(subject)})
        deletion = Deletion.objects.get()
        assert answer.headers["Location"] == f"/deletions/{deletion.pk}/"
    elif door == "api":
        address = f"/api/v1/deletions/{kind}/{reference}"
        answer = client.post(address, {"name": str(subject)}, content_type="application/json")
        assert answer.status_code == 202, answer.content
    else:
        chosen = {"action": "delete_selected", "_selected_action": [subject.pk], "post": "yes"}
        answer = client.post(f"/admin/{ADMIN[kind]}/", chosen)
        assert answer.status_code == 302, answer.content
    delete(Deletion.objects.get().pk)
    return Deletion.objects.get()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_with_all_that_is_its_own_and_with_nothing_else(kind: str, door: str, filled: Filled) -> None:
    world = filled.world
    own_of(world.people["editor"], "")
    own_of(world.people["outsider"], "")
    signed_in(world.people["editor"])
    subject = subject_of(filled, kind)
    assert Delivery.objects.filter(channel=filled.channels["alpha"], state="sent").exists()
    world.client("superuser")
    shown = preview(kinds()[kind], subject)
    of_beta, rows, stored = store_rows(world.elsewhere), all_rows(), store_rows(world.ended)
    there = files()
    assert min(of_beta[table] for table in ("span", "sample", "transition", "tile", "worker")) > 0

    deletion = pass_through(door, filled, kind, subject)

    assert (deletion.state, deletion.message, deletion.progress) == ("done", "", 1.0)
    after = all_rows()
    gone = {model: rows[model] - after[model] for model in rows}
    counted = Counter({amount.noun: amount.count for amount in shown.goes})
    expected = Counter(
        {each.noun: each.count for each in summed(of_rows(m, len(k)) for m, k in gone.items())}
    )
    if kind in ("project", "cluster"):
        expected |= Counter({"records": records(stored), "workers": stored["worker"], "cached tiles": 1})
        expected |= Counter({"batches in quarantine": 1})
        assert store_rows(world.ended.pk) == dict.fromkeys(stored, 0)
    if kind != "rule" and kind != "channel":
        expected |= Counter({"files": 1})
    assert counted == expected
    assert summed(from_json(deletion.amounts)) == shown.goes
    assert not type(subject)._base_manager.filter(pk=subject.pk).exists()
    assert store_rows(world.elsewhere) == of_beta
    assert len(files()) == len(there) - counted["files"] - counted["batches in quarantine"]
    _beta_is_whole(filled)


def _beta_is_whole(filled: Filled) -> None:
    world = filled.world
    assert filled.rules["beta"].projects.get() == world.beta
    assert Rule.objects.filter(name="everywhere").exists()
    assert Delivery.objects.filter(alert__cluster=world.elsewhere).count() == 4
    assert world.beta.targets.count() == 2
    assert Run.objects.get(cluster=world.elsewhere).permalinks.count() == 1
    assert world.people["outsider"].access_tokens.count() == 1
    # nothing that was limited to a project applies to all now
    for model in (Rule, Channel, Silence, MaintenanceWindow):
        assert not model.objects.filter(projects=None).exclude(pk=filled.to_all.pk).exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_preview_deletes_nothing(kind: str, filled: Filled) -> None:
    subject = subject_of(filled, kind)
    reference, client = kinds()[kind].reference_to(subject), filled.world.client("superuser")
    rows, stored = all_rows(), store_rows(filled.world.ended)
    answer = client.get(f"/api/v1/deletions/{kind}/{reference}").json()
    shown = preview(kinds()[kind], subject)
    assert [(each["noun"], each["count"]) for each in answer["goes"]] == [
        (amount.noun, amount.count) for amount in shown.goes
    ]
    page = client.get(f"/delete/{kind}/{reference}/").content.decode()
    output = io.StringIO()
    call_command("delete", kind, reference, "--dry-run", stdout=output)
    for amount in shown.goes:
        assert f"<strong>{amount.count:,}</strong> {amount.words}" in page
        assert f"{amount.count:,} {amount.words}" in output.getvalue()
    assert "Nothing was deleted." in output.getvalue()
    assert (all_rows(), store_rows(filled.world.ended)) == (rows, stored)
    assert not Deletion.objects.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_the_name_has_to_be_given(kind: str, filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subject_of(filled, kind)
    reference, client = kinds()[kind].reference_to(subject), filled.world.client("superuser")
    answer = client.post(f"/delete/{kind}/{reference}/", {"name": f"{subject}x"})
    assert answer.status_code == 422
    assert b"That isn&#x27;t the name" in answer.content
    address = f"/api/v1/deletions/{kind}/{reference}"
    assert client.post(address, {"name": ""}, content_type="application/json").status_code == 422
    monkeypatch.setattr("builtins.input", lambda prompt: "no")
    with pytest.raises(CommandError, match="nothing was deleted"):
        call_command("delete", kind, reference, stdout=io.StringIO())
    assert not Deletion.objects.exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("role", ["owner", "editor", "viewer", "outsider", "nobody"])
def test_only_owners_delete_what_is_of_their_projects_and_superusers_people(
    role: str, kind: str, filled: Filled
) -> None:
    subject = subject_of(filled, kind)
    reference, client = kinds()[kind].reference_to(subject), filled.world.client(role)
    allowed = role == "owner" and kind != "person"
    sees = role in ("owner", "editor", "viewer") and kind in ("project", "cluster")
    refused = 200 if allowed else 403 if sees else 404
    assert client.get(f"/delete/{kind}/{reference}/").status_code == refused
    assert client.get(f"/api/v1/deletions/{kind}/{reference}").status_code == refused
    if not allowed:
        sent = {"name": str(subject)}
        assert client.post(f"/delete/{kind}/{reference}/", sent).status_code == refused
        address = f"/api/v1/deletions/{kind}/{reference}"
        assert client.post(address, sent, content_type="application/json").status_code == refused
        assert not Deletion.objects.exists()


def test_who_manages_one_of_a_rules_projects_does_not_delete_it(filled: Filled) -> None:
    rule = filled.rules["alpha"]
    rule.projects.add(filled.world.beta)
    assert filled.world.client("owner").get(f"/delete/rule/{rule.pk}/").status_code == 404
    assert filled.world.client("owner").get(f"/delete/rule/{filled.to_all.pk}/").status_code == 404


def test_a_live_cluster_is_refused_with_what_to_do_first(filled: Filled) -> None:
    live = filled.world.live
    client = filled.world.client("owner")
    page = client.get(f"/delete/cluster/{live.pk}/").content.decode()
    assert "It is live" in page
    assert "First pause or remove its target “analysis”. It" in page
    Cluster.objects.filter(pk=live.pk).update(agent_heard=now())
    page = client.get(f"/delete/cluster/{live.pk}/").content.decode()
    assert "target “analysis” and stop its scheduler or revoke the ingest token of its agent" in page
    assert 'name="name"' not in page
    answer = client.post(f"/delete/cluster/{live.pk}/", {"name": live.name})
    assert answer.status_code == 422
    sent = {"name": live.name}
    answer = client.post(f"/api/v1/deletions/cluster/{live.pk}", sent, content_type="application/json")
    assert (answer.status_code, "It is live" in answer.json()["detail"]) == (409, True)
    with pytest.raises(CommandError, match="It is live"):
        call_command("delete", "cluster", str(live.pk), "--yes", stdout=io.StringIO())
    assert Cluster.objects.filter(pk=live.pk).exists()


def test_nothing_is_recorded_into_a_project_while_it_is_deleted_and_nobody_sees_it(filled: Filled) -> None:
    world = filled.world
    client = world.client("owner")
    assert "1 cluster is live" in client.get("/delete/project/alpha/").content.decode()
    client.post("/delete/project/alpha/", {"name": "Alpha"})
    for address in ("/projects/alpha/", f"/clusters/{world.ended.pk}/", f"/runs/{world.run.pk}/"):
        assert client.get(address).status_code == 404
        assert world.client("superuser").get(address).status_code == 404
    assert "Alpha" not in client.get("/projects/").content.decode()
    kinds()["project"].stop(world.alpha)
    assert not world.alpha.targets.filter(enabled=True).exists()
    assert not IngestToken.objects.filter(project=world.alpha, revoked=None).exists()
    deletion = Deletion.objects.get()
    assert world.client("outsider").get(f"/deletions/{deletion.pk}/").status_code == 404
    assert "Nobody sees the project" in client.get(f"/deletions/{deletion.pk}/").content.decode()
    delete(deletion.pk)
    assert "The project is deleted" in client.get(f"/deletions/{deletion.pk}/").content.decode()
    assert client.get(f"/api/v1/deletions/{deletion.pk}").json()["state"] == "done"


def test_what_a_deleted_person_made_in_projects_stays_by_a_deleted_user(filled: Filled) -> None:
    world = filled.world
    editor = world.people["editor"]
    pass_through("page", filled, "person", editor)
    assert Run.objects.get(cluster=world.ended).created_by is None
    assert Note.objects.get(cluster=world.ended).author is None
    assert Permalink.objects.get(run__cluster=world.ended).created_by is None
    assert IngestToken.objects.get(project=world.alpha).revoked is None
    assert filled.rules["alpha"].projects.get() == world.alpha
    assert Channel.objects.filter(pk=filled.channels["alpha"].pk).exists()
    client = world.client("owner")
    run = Run.objects.get(cluster=world.ended)
    assert "by a deleted user" in client.get(f"/runs/{run.pk}/links/").content.decode()
    deletion = Deletion.objects.get()
    assert (deletion.name, deletion.asked_by) == ("", world.people["superuser"])


def test_a_persons_channel_goes_if_nobody_else_is_in_its_projects(filled: Filled) -> None:
    editor = filled.world.people["editor"]
    alone = Project.objects.create(name="Own", slug="own")
    alone.memberships.create(user=editor, role="owner")
    own, shared = (Channel.objects.create(name=name, secret="", created_by=editor) for name in ("a", "b"))
    own.projects.add(alone)
    shared.projects.add(alone, filled.world.alpha)
    to_all = Channel.objects.create(name="to all", secret="", created_by=editor)
    shown = preview(kinds()["person"], editor)
    assert "Own" in " ".join(shown.notes)
    pass_through("command", filled, "person", editor)
    assert not Channel.objects.filter(pk=own.pk).exists()
    assert Channel.objects.filter(pk__in=[shared.pk, to_all.pk]).count() == 2
    assert Project.objects.filter(pk=alone.pk).exists()


def test_the_only_superuser_is_not_deleted(filled: Filled) -> None:
    root = filled.world.people["superuser"]
    answer = filled.world.client("superuser").post("/delete/person/superuser/", {"name": "superuser"})
    assert answer.status_code == 422
    assert "only superuser" in answer.content.decode()
    User.objects.create_superuser("second", "", None)
    answer = filled.world.client("superuser").post("/delete/person/superuser/", {"name": "superuser"})
    assert answer.status_code == 302
    delete(Deletion.objects.get().pk)
    assert not User.objects.filter(pk=root.pk).exists()


def test_an_interrupted_deletion_goes_on_and_counts_everything(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    from observatory.clusters.deletion import deletions
    from observatory.clusters.deletion.kinds.cluster import StoredRecords

    monkeypatch.setattr(deletions, "SECONDS_BETWEEN", 0)
    world = filled.world
    shown = preview(kinds()["project"], world.alpha)
    deletion = deletions.note(kinds()["project"], world.alpha, world.people["owner"], Deletion.Door.PAGE)
    remove = StoredRecords.remove

    def killed(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(StoredRecords, "remove", killed)
    with pytest.raises(KeyboardInterrupt):
        delete(deletion.pk)
    deletion.refresh_from_db()
    assert (deletion.state, 0 < deletion.progress < 1) == ("running", True)
    assert Project.objects.filter(pk=world.alpha.pk).exists()
    monkeypatch.setattr(StoredRecords, "remove", remove)
    delete(deletion.pk)
    deletion.refresh_from_db()
    assert deletion.state == "done"
    assert summed(from_json(deletion.amounts)) == shown.goes


def test_a_deletion_that_failed_shows_what_is_left_again(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    from observatory.clusters.deletion.kinds.cluster import StoredRecords

    def fails(*arguments: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(StoredRecords, "remove", fails)
    client = filled.world.client("owner")
    client.post("/delete/project/alpha/", {"name": "Alpha"})
    delete(Deletion.objects.get().pk)
    deletion = Deletion.objects.get()
    assert deletion.state == "failed"
    assert "Delete it again" in client.get(f"/deletions/{deletion.pk}/").content.decode()
    assert client.get("/projects/alpha/").status_code == 200


def test_two_requests_are_one_deletion(filled: Filled) -> None:
    client = filled.world.client("owner")
    address, sent = f"/api/v1/deletions/cluster/{filled.world.ended.pk}", {"name": filled.world.ended.name}
    first = client.post(address, sent, content_type="application/json")
    assert first.status_code == 202
    assert client.post(address, sent, content_type="application/json").status_code == 404
    assert Deletion.objects.count() == 1


def test_a_token_deletes_with_its_scope_alone(filled: Filled) -> None:
    from django.test import Client

    from observatory.clusters.tokens import access_tokens

    owner, cluster = filled.world.people["owner"], filled.world.ended
    address, sent = f"/api/v1/deletions/cluster/{cluster.pk}", {"name": cluster.name}
    for scopes, status in ((["runs", "members"], 403), (["deletions"], 202)):
        _, secret = access_tokens.make(owner, "script", None, scopes)
        client = Client(headers={"Authorization": f"Bearer {secret}"})
        assert client.get(address).status_code == 200
        assert client.post(address, sent, content_type="application/json").status_code == status


def test_a_person_of_single_sign_on_is_deleted_after_it_was_switched_off(filled: Filled) -> None:
    editor = filled.world.people["editor"]
    with connection.cursor() as cursor:
        cursor.execute("""
            CREATE TABLE account_emailaddress (
                id serial PRIMARY KEY, email text, user_id integer NOT NULL
                REFERENCES auth_user (id) DEFERRABLE INITIALLY DEFERRED);
            CREATE TABLE account_emailconfirmation (
                id serial PRIMARY KEY, email_address_id integer NOT NULL
                REFERENCES account_emailaddress (id) DEFERRABLE INITIALLY DEFERRED)""")
        for person in (editor, filled.world.people["owner"]):
            cursor.execute("INSERT INTO account_emailaddress (email, user_id) VALUES ('x', %s)", [person.pk])
        cursor.execute(
            "INSERT INTO account_emailconfirmation (email_address_id) SELECT id FROM account_emailaddress"
        )
    try:
        shown = preview(kinds()["person"], editor)
        assert "2 rows of single sign-on" in map(as_text, shown.goes)
        deletion = pass_through("page", filled, "person", editor)
        assert (deletion.state, summed(from_json(deletion.amounts))) == ("done", shown.goes)
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM account_emailaddress")
            assert cursor.fetchall() == [(1,)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE account_emailconfirmation, account_emailaddress")


def test_celery_deletes_what_a_page_asked_for(filled: Filled) -> None:
    app.control.purge()
    with start_worker(app, pool="threads", concurrency=1, perform_ping_check=False):
        filled.world.client("owner").post("/delete/project/alpha/", {"name": "Alpha"})
        deadline = time.monotonic() + 180
        while not (deletion := Deletion.objects.get()).is_over:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert (deletion.state, Project.objects.filter(slug="alpha").exists()) == ("done", False)


def test_what_no_process_works_on_is_taken_up(filled: Filled) -> None:
    cluster = filled.world.ended
    for age, state in ((0, "waiting"), (60, "done")):
        Deletion.objects.update_or_create(
            kind="cluster", subject=cluster.pk, defaults={"name": cluster.name, "door": "page"}
        )
        Deletion.objects.update(created=now() - timedelta(seconds=age))
        resume_deletions()
        assert Deletion.objects.get().state == state
    assert not Cluster.objects.filter(pk=cluster.pk).exists()


def test_the_admin_deletes_several_and_shows_what_goes_first(filled: Filled) -> None:
    client = filled.world.client("superuser")
    rules = [filled.rules["alpha"].pk, filled.rules["beta"].pk]
    chosen = {"action": "delete_selected", "_selected_action": rules}
    page = client.post("/admin/alerts/rule/", chosen).content.decode()
    assert "of alpha: 2 notifications" in page
    assert Rule.objects.filter(pk__in=rules).count() == 2
    clusters = {"action": "delete_selected", "_selected_action": [filled.world.live.pk], "post": "yes"}
    page = client.post("/admin/clusters/cluster/", clusters).content.decode()
    assert "It is live" in page
    assert not Deletion.objects.exists()
    client.post("/admin/alerts/rule/", {**chosen, "post": "yes"})
    for deletion in Deletion.objects.all():
        delete(deletion.pk)
    assert not Rule.objects.filter(pk__in=rules).exists()
    listed = client.get("/admin/clusters/deletion/").content.decode()
    assert "of alpha" in listed
    assert client.get(f"/admin/clusters/deletion/{Deletion.objects.first().pk}/delete/").status_code == 403  # type: ignore[union-attr]
    assert filled.world.client("owner").get("/admin/clusters/deletion/").status_code != 200


def test_hostile_names_are_escaped_and_have_to_be_typed_as_they_are(filled: Filled) -> None:
    rule = filled.rules["alpha"]
    rule.name = f"{HOSTILE} a/b"
    rule.save()
    client = filled.world.client("superuser")
    page = client.get(f"/delete/rule/{rule.pk}/").content.decode()
    assert HOSTILE not in page
    assert client.post(f"/delete/rule/{rule.pk}/", {"name": rule.name}).status_code == 302
    assert HOSTILE not in client.get(f"/deletions/{Deletion.objects.get().pk}/").content.decode()


@pytest.mark.parametrize("reference", ["0", "99999999999999999999", "x", "%00", "²"])
def test_what_does_not_exist_is_not_found(reference: str, filled: Filled) -> None:
    client = filled.world.client("superuser")
    for kind in KINDS:
        for address in (f"/delete/{kind}/{reference}/", f"/api/v1/deletions/{kind}/{reference}"):
            assert client.get(address).status_code in (400, 404), address
    assert client.get(f"/delete/span/{filled.world.ended.pk}/").status_code == 404


def test_a_number_is_the_number_of_a_rule_before_it_is_the_name_of_another(filled: Filled) -> None:
    rule, other = filled.rules["alpha"], filled.rules["beta"]
    Rule.objects.filter(pk=other.pk).update(name=str(rule.pk))
    answer = filled.world.client("superuser").get(f"/api/v1/deletions/rule/{rule.pk}").json()
    assert answer["name"] == "of alpha"
    assert [*kinds()["rule"].referred("of alpha")] == [rule]
