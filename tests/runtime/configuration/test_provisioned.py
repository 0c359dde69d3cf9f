"""What is provisioned is shown, says where it is changed, and is changed and deleted nowhere else."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Model
from django.test import Client

from observatory.alerts.models import Channel, MaintenanceWindow, Rule, Silence
from observatory.clusters.accounts.models import GroupRole, Membership
from observatory.clusters.models import Discovery, Project, Target
from observatory.exchange.models import Receiver
from tests.runtime.configuration.conftest import EXAMPLE, apply, plan
from tests.support.projects import World, signed_in, world

__all__ = ["world"]

OF_ADMIN: list[tuple[type[Model], str, str]] = [
    (Project, "clusters/project", "projects/etl.yaml"),
    (GroupRole, "clusters/grouprole", "projects/etl.yaml"),
    (Target, "clusters/target", "projects/etl.yaml"),
    (Discovery, "clusters/discovery", "projects/etl.yaml"),
    (Rule, "alerts/rule", "rules.yaml"),
    (Channel, "alerts/channel", "channels.yaml"),
    (Receiver, "exchange/receiver", "receivers.yaml"),
    (Silence, "alerts/silence", "silences.yaml"),
    (MaintenanceWindow, "alerts/maintenancewindow", "silences.yaml"),
]


@pytest.fixture
def superuser(world: World, installation: None) -> Client:
    apply(EXAMPLE)
    return world.client("superuser")


def row_of(model: Any) -> Any:
    """A row of the example."""
    names = {Project: {"slug": "etl"}, Rule: {"name": "Threads"}, Target: {"name": "nightly"}}
    return model.objects.filter(**names.get(model, {})).first()


@pytest.mark.parametrize(("model", "path", "file"), OF_ADMIN, ids=[path for _, path, _ in OF_ADMIN])
def test_the_admin_shows_it_says_where_it_is_changed_and_changes_nothing(
    superuser: Client, model: Any, path: str, file: str
) -> None:
    row = row_of(model)
    listed = superuser.get(f"/admin/{path}/").content.decode()
    assert f">{file}<" in listed.replace("\n", "").replace("  ", "")
    page = superuser.get(f"/admin/{path}/{row.pk}/change/")
    assert page.status_code == 200
    text = page.content.decode()
    assert f"is provisioned: change it in {file}, and apply that." in text
    assert 'name="_save"' not in text
    before = model.objects.filter(pk=row.pk).values().get()
    assert superuser.post(f"/admin/{path}/{row.pk}/change/", {"name": "Mine"}).status_code == 403
    assert superuser.post(f"/admin/{path}/{row.pk}/delete/", {"post": "yes"}).status_code == 403
    several = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    superuser.post(f"/admin/{path}/", several)
    assert model.objects.filter(pk=row.pk).values().get() == before


@pytest.mark.parametrize(("model", "path", "file"), OF_ADMIN, ids=[path for _, path, _ in OF_ADMIN])
def test_what_people_made_is_changed_as_ever(superuser: Client, model: Any, path: str, file: str) -> None:
    call_command("apply", release=True)
    text = superuser.get(f"/admin/{path}/{row_of(model).pk}/change/").content.decode()
    assert "is provisioned" not in text
    assert 'name="_save"' in text


def test_the_list_of_rules_switches_only_what_people_made(superuser: Client) -> None:
    ours, mine = Rule.objects.get(name="Threads"), Rule.objects.create(name="Mine")
    rows = [ours, mine]
    form = {"form-TOTAL_FORMS": "2", "form-INITIAL_FORMS": "2", "_save": "Save"}
    form |= {f"form-{number}-id": str(rule.pk) for number, rule in enumerate(rows)}
    answer = superuser.post(f"/admin/alerts/rule/?id__in={ours.pk},{mine.pk}", form)
    assert answer.status_code == 302
    assert [Rule.objects.get(pk=rule.pk).enabled for rule in rows] == [True, False]


def test_a_ready_made_rule_is_not_reset(superuser: Client) -> None:
    rule = Rule.objects.get(key="worker-memory")
    assert superuser.post(f"/admin/alerts/rule/{rule.pk}/reset/").status_code == 403
    assert (
        "Reset to its defaults" not in superuser.get(f"/admin/alerts/rule/{rule.pk}/change/").content.decode()
    )


def test_a_silence_is_not_expired(superuser: Client) -> None:
    silence = Silence.objects.get()
    chosen = {"action": "expire_now", "_selected_action": [silence.pk]}
    answer = superuser.post("/admin/alerts/silence/", chosen, follow=True)
    assert "1 left as they are: they are provisioned from files" in answer.content.decode()
    assert Silence.objects.get().expires == silence.expires


@pytest.mark.parametrize("name", ["target", "discovery"])
def test_pages_and_api_refuse_to_change_and_remove_targets_and_discoveries(
    superuser: Client, name: str
) -> None:
    row: Any = row_of({"target": Target, "discovery": Discovery}[name])
    plural, base = {"target": ("targets", "/targets"), "discovery": ("discoveries", "/targets/discoveries")}[
        name
    ]
    page = superuser.get("/targets/").content.decode()
    assert "provisioned from projects/etl.yaml" in page
    assert f'href="{base}/{row.pk}/"' not in page
    message = f"This {name} is provisioned: change it in projects/etl.yaml, and apply that."
    for action in ("", "switch/", "remove/"):
        answer = superuser.post(f"{base}/{row.pk}/{action}", {"enabled": "0"})
        assert answer.status_code == 403
        assert message in answer.content.decode()
    url = f"/api/v1/{plural}/{row.pk}"
    assert superuser.get(url).json()["provisioned"] == "projects/etl.yaml"
    listed = {each["id"]: each["provisioned"] for each in superuser.get(f"/api/v1/{plural}").json()}
    assert listed[row.pk] == "projects/etl.yaml"
    change = superuser.patch(url, {"enabled": False}, content_type="application/json")
    assert (change.status_code, message in change.json()["detail"]) == (403, True)
    assert superuser.delete(url).status_code == 403
    row.refresh_from_db()
    assert row.enabled


def test_owners_see_on_the_page_of_the_project_where_its_settings_are(
    superuser: Client, world: World
) -> None:
    etl = Project.objects.get(slug="etl")
    Membership.objects.create(project=etl, user=world.people["nobody"], role="owner")
    owner = signed_in(world.people["nobody"])
    page = owner.get("/projects/etl/").content.decode()
    assert "This project is provisioned: change it in projects/etl.yaml, and apply that." in page
    assert 'name="retention_days"' not in page
    assert owner.post("/projects/etl/", {"name": "Mine", "retention_days": 1}).status_code == 403
    added = owner.post("/projects/etl/members/", {"username": "viewer", "role": "viewer"})
    assert added.status_code in (302, 404)
    assert plan(EXAMPLE)[0] == 0


def test_a_project_a_rule_and_a_channel_are_not_deleted_before_they_leave_the_files(
    superuser: Client,
) -> None:
    for kind, name in (("project", "etl"), ("rule", "Threads"), ("channel", "ETL team")):
        with pytest.raises(CommandError, match="It is provisioned: remove it from"):
            call_command("delete", kind, name, "--yes", stdout=io.StringIO())
    assert Project.objects.filter(slug="etl").exists()
