"""How discoveries are set: by the API, in pages, in the admin and by the command, and by whom."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command

from observatory.clusters.models import Discovery, Target
from observatory.collect.credentials.credentials import Credentials
from observatory.collect.credentials.storage import seal, unseal
from tests.collect.discovery.lists import ListServer, serving
from tests.support.projects import HOSTILE, World

ADDRESS = "http://10.2.2.2/targets"
FORM = {
    "kind": "http_sd",
    "address": ADDRESS,
    "enabled": "on",
    "interval": 30,
    "identity_interval": 1,
    "metrics_interval": 5,
}


@pytest.fixture
def discovery(world: World) -> Discovery:
    secret = seal(Credentials(token="s3cret"))
    return Discovery.objects.create(
        project=world.alpha, name="lab", kind="http_sd", address=ADDRESS, secret=secret
    )


@pytest.fixture(scope="module")
def server() -> Iterator[ListServer]:
    with serving(lambda path, query: [{"targets": ["10.0.0.1:8787"], "labels": {"name": "etl"}}]) as running:
        yield running


def sent(world: World, method: str, path: str, data: dict[str, Any], role: str = "editor") -> Any:
    return getattr(world.client(role), method)(path, data, content_type="application/json")


def post(world: World, role: str = "editor", **fields: Any) -> Any:
    new = {"project": "alpha", "kind": "http_sd", "address": ADDRESS, **fields}
    return sent(world, "post", "/api/v1/discoveries", new, role)


def test_the_api_adds_changes_lists_and_removes(world: World) -> None:
    answer = post(world, interval=60, credentials={"token": "s3cret"})
    assert answer.status_code == 201, answer.content
    added = answer.json()
    assert (added["name"], added["state"], added["interval"]) == ("10.2.2.2", "waiting", 60)
    assert added["stored_credentials"] == ["token"]
    assert b"s3cret" not in answer.content
    path = f"/api/v1/discoveries/{added['id']}"
    changed = sent(world, "patch", path, {"name": "lab", "enabled": False}).json()
    assert (changed["name"], changed["state"], changed["stored_credentials"]) == ("lab", "paused", ["token"])
    assert world.client("viewer").get(path).json() == changed
    assert world.client("viewer").get("/api/v1/discoveries?project=alpha").json() == [changed]
    found = Target.objects.create(project=world.alpha, name="found", url=ADDRESS, discovery_id=added["id"])
    shown = world.client("viewer").get(f"/api/v1/targets/{found.pk}").json()
    assert shown["discovery"] == "lab"
    assert world.client("editor").delete(path).status_code == 204
    assert [target.name for target in Target.objects.all()] == ["analysis"]


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"kind": "dns_sd"}, "kind", "dns_sd is not one of the available choices"),
        ({"address": ""}, "address", "as in https://host/targets"),
        ({"address": "ftp://host/x"}, "address", "Only http:// and https://"),
        ({"address": "http://ann:pw@host/"}, "address", "can't carry a user name"),
        ({"interval": 1}, "interval", "greater than or equal to 5"),
        ({"namespace": "team"}, "namespace", "Only Kubernetes"),
        ({"kind": "gateway", "address": "http://g/?x=1"}, "address", "no ?"),
        ({"kind": "kubernetes", "address": "https://k:6443", "namespace": "a/b"}, "namespace", "no name"),
        ({"kind": "kubernetes", "address": ""}, "kind", "Only superusers may use the service account"),
        ({"kind": "file_sd", "address": "*.json"}, "kind", "Only superusers may read files"),
        (
            {"kind": "kubernetes", "address": "https://k:6443", "shares_credentials": True},
            "shares_credentials",
            "not for clusters",
        ),
        ({"name": "lab"}, "__all__", "already exists"),
    ],
)
def test_wrong_fields_are_refused_by_name(
    world: World, discovery: Discovery, fields: dict[str, Any], field: str, reason: str
) -> None:
    answer = post(world, **fields)
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == [field]
    assert reason in answer.json()["detail"]


def test_a_superuser_is_told_what_the_server_lacks(world: World, settings: Any, tmp_path: Path) -> None:
    settings.DISCOVERY_DIR = None
    files = {"kind": "file_sd", "address": "*.json"}
    assert "OBSERVATORY_DISCOVERY_DIR" in post(world, "superuser", **files).json()["errors"]["address"][0]
    kubernetes = {"kind": "kubernetes", "address": ""}
    assert "does not run in Kubernetes" in post(world, "superuser", **kubernetes).json()["detail"]
    settings.DISCOVERY_DIR = tmp_path
    assert post(world, "superuser", **files).status_code == 201
    path = f"/api/v1/discoveries/{Discovery.objects.get().pk}"
    assert sent(world, "patch", path, {"interval": 60}).status_code == 422, "an editor changed it"


def test_only_editors_and_owners_change_them(world: World, discovery: Discovery) -> None:
    one = f"/api/v1/discoveries/{discovery.pk}"
    for role, status in (("viewer", 403), ("outsider", 404), ("nobody", 404), ("anonymous", 401)):
        assert post(world, role).status_code == status
        assert sent(world, "patch", one, {"enabled": False}, role).status_code == status
        assert world.client(role).delete(one).status_code == status
    for role, status in (("outsider", 404), ("nobody", 404), ("viewer", 200)):
        assert world.client(role).get(one).status_code == status
        assert (b"lab" in world.client(role).get("/api/v1/discoveries").content) is (status == 200)
        assert (ADDRESS.encode() in world.client(role).get("/targets/").content) is (status == 200)
    discovery.refresh_from_db()
    assert discovery.enabled
    assert post(world, "owner").status_code == 201


def test_stored_secrets_go_nowhere_else_than_before(world: World, discovery: Discovery) -> None:
    path = f"/api/v1/discoveries/{discovery.pk}"
    for change in (
        {"address": "http://10.2.2.3/targets"},
        {"shares_credentials": True},
        {"workers": "credentials"},
    ):
        answer = sent(world, "patch", path, change)
        assert list(answer.json()["errors"]) == list(change)
        assert "enter the credentials again" in answer.json()["detail"]
    assert sent(world, "patch", path, {"address": f"{ADDRESS}/more"}).status_code == 200


def test_found_targets_follow_the_credentials_that_they_got(world: World, discovery: Discovery) -> None:
    other = seal(Credentials(token="its own"))
    for number, secret in enumerate(("", "", other)):
        fields = {"name": f"found {number}", "url": f"http://10.0.0.{number}:8787", "secret": secret}
        Target.objects.create(project=world.alpha, discovery=discovery, **fields)

    def tokens() -> list[str]:
        return [unseal(target.secret).token for target in discovery.targets.order_by("name")]

    path = f"/api/v1/discoveries/{discovery.pk}"
    for change, expected in (
        ({"credentials": {"token": "new"}}, ""),
        ({"credentials": {"token": "shared"}, "shares_credentials": True}, "shared"),
        ({"credentials": {"token": "renewed"}}, "renewed"),
        ({"interval": 90}, "renewed"),
        ({"shares_credentials": False}, ""),
    ):
        assert sent(world, "patch", path, change).status_code == 200
        assert tokens() == [expected, expected, "its own"]
    world.target.refresh_from_db()
    assert world.target.secret == ""


def test_a_new_list_is_requested_at_once(world: World, discovery: Discovery) -> None:
    Discovery.objects.update(looked=discovery.created, answered=discovery.created, error="old")
    path = f"/api/v1/discoveries/{discovery.pk}"
    assert sent(world, "patch", path, {"interval": 90}).json()["looked"] is not None
    changed = sent(world, "patch", path, {"address": f"{ADDRESS}/more"}).json()
    assert (changed["looked"], changed["answered"], changed["state"]) == (None, None, "waiting")


def test_the_address_of_a_found_target_stays_that_of_the_list(world: World, discovery: Discovery) -> None:
    Target.objects.filter(pk=world.target.pk).update(discovery=discovery)
    path = f"/api/v1/targets/{world.target.pk}"
    answer = sent(world, "patch", path, {"url": "http://10.1.2.4:8787"})
    assert "lab lists this target" in answer.json()["errors"]["url"][0]
    assert sent(world, "patch", path, {"name": "mine"}).status_code == 200


def test_a_name_that_is_taken_is_refused_also_by_a_change(world: World, discovery: Discovery) -> None:
    second = Discovery.objects.create(project=world.alpha, name="second", kind="http_sd", address=ADDRESS)
    answer = sent(world, "patch", f"/api/v1/discoveries/{second.pk}", {"name": "lab"})
    assert answer.status_code == 422
    assert "already exists" in answer.json()["detail"]


def test_the_pages_add_change_pause_and_remove(world: World) -> None:
    client = world.client("editor")
    refused = client.post("/targets/discoveries/add/", {**FORM, "project": world.alpha.pk, "address": "x"})
    assert refused.status_code == 422
    assert b'role="alert"' in refused.content
    fields = {**FORM, "project": world.alpha.pk, "name": HOSTILE, "token": "s3cret"}
    added = client.post("/targets/discoveries/add/", fields, follow=True).content
    assert b"is saved. Its list is requested" in added
    assert HOSTILE.encode() not in added
    one = f"/targets/discoveries/{Discovery.objects.get().pk}/"
    page = client.get(one).content
    assert b"Stored: bearer token." in page
    assert b"s3cret" not in page
    assert client.post(one, {**FORM, "name": "lab"}).status_code == 302
    client.post(f"{one}switch/", {"enabled": "0"})
    changed = Discovery.objects.get()
    assert (changed.name, changed.enabled, unseal(changed.secret).token) == ("lab", False, "s3cret")
    found = Target.objects.create(project=world.alpha, name="found", url=ADDRESS, discovery=changed)
    assert b"found by lab" in client.get("/targets/").content
    assert b"The 1 target that it found is removed" in client.get(f"{one}remove/").content
    assert Discovery.objects.exists(), "a GET removed it"
    client.post(f"{one}remove/")
    assert not Target.objects.filter(pk=found.pk).exists()


def test_the_page_does_not_add_into_a_project_where_one_may_not(world: World) -> None:
    answer = world.client("editor").post("/targets/discoveries/add/", {**FORM, "project": world.beta.pk})
    assert answer.status_code == 422
    assert not Discovery.objects.exists()


def test_the_admin_sets_them_as_the_pages_do(world: World, discovery: Discovery) -> None:
    client = world.client("superuser")
    path = "/admin/clusters/discovery/"
    fields = {**FORM, "project": world.alpha.pk, "name": "by the admin", "token": "t0ken"}
    assert client.post(f"{path}add/", fields).status_code == 302
    assert unseal(Discovery.objects.get(name="by the admin").secret).token == "t0ken"
    refused = client.post(f"{path}add/", {**fields, "name": "files", "kind": "file_sd", "address": "x.json"})
    assert list(refused.context["adminform"].form.errors) == ["address"]
    page = client.get(f"{path}{discovery.pk}/change/").content
    assert b"Stored: bearer token." in page
    assert b"lab" in client.get(path).content
    for role, change in (("viewer", 403), ("editor", 302), ("outsider", 302)):
        person = world.people[role]
        person.is_staff = True
        person.save()
        person.user_permissions.set(Permission.objects.filter(content_type__app_label="clusters"))
        answer = world.client(role).post(f"{path}{discovery.pk}/change/", {**FORM, "name": role})
        assert answer.status_code == change
    discovery.refresh_from_db()
    assert discovery.name == "editor"
    files = {**fields, "name": "files", "kind": "file_sd", "address": "x.json"}
    refused = world.client("editor").post(f"{path}add/", files)
    assert list(refused.context["adminform"].form.errors) == ["kind"]


def discover(*arguments: str) -> str:
    output = StringIO()
    call_command("discover", *arguments, stdout=output)
    return output.getvalue()


@pytest.mark.django_db
def test_the_command_adds_a_discovery_with_what_it_finds(server: ListServer, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    given = [
        "--name",
        "lab",
        "--interval",
        "90",
        "--share-credentials",
        "--token-file",
        str(tmp_path / "token"),
    ]
    printed = discover("http_sd", server.url, *given)
    assert "http://10.0.0.1:8787 is observed as 'etl'." in printed
    assert "1 found by 'lab' in project 'default', which is asked every 90 s." in printed
    added = Discovery.objects.get()
    assert (added.project.slug, added.interval, added.shares_credentials) == ("default", 90, True)
    assert server.requests[-1][1]["Authorization"] == "Bearer s3cret"
    assert unseal(added.targets.get().secret).token == "s3cret"


@pytest.mark.django_db
def test_the_command_says_why_there_is_no_list(server: ListServer) -> None:
    with pytest.raises(CommandError, match="status 404"), serving(lambda path, query: 404) as nothing:
        discover("http_sd", nothing.url)
    with pytest.raises(CommandError, match="Only http"):
        discover("gateway", "ftp://host")
    assert not Discovery.objects.exists()
