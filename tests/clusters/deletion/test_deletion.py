"""Projects, clusters, rules, channels and people are deleted with all that is theirs, through every door."""

from __future__ import annotations

import io
from collections import Counter

import pytest
from django.core.management import CommandError, call_command
from django.utils.timezone import now

from observatory.alerts.models import Channel, Delivery, MaintenanceWindow, Rule, Silence
from observatory.clusters.deletion.amounts import from_json, of_rows, summed
from observatory.clusters.deletion.kind import kinds
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.deletion.preview import preview
from observatory.clusters.models import Cluster
from observatory.clusters.tasks import delete
from observatory.clusters.tokens.models import IngestToken
from observatory.runs.models import Run
from tests.clusters.deletion.conftest import Filled, all_rows, files, own_of, records, store_rows
from tests.clusters.deletion.doors import DOORS, KINDS, pass_through, subject_of
from tests.support.projects import HOSTILE, signed_in

pytestmark = pytest.mark.django_db(transaction=True)


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
