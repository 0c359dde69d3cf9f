"""How targets are set: by the API, in pages, in the admin; against a real scheduler and what is none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.contrib.auth.models import Permission

from observatory.clusters.models import Target
from tests.collect.dask_processes import Scheduler, free_port, scheduler
from tests.support.projects import World


@pytest.fixture(scope="module")
def dask() -> Iterator[Scheduler]:
    with scheduler() as running:
        yield running


@pytest.fixture
def other_server() -> Iterator[str]:
    """The address of an HTTP server that is no Dask scheduler."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<h1>It works!</h1>")

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def post(world: World, role: str, **fields: Any) -> Any:
    data = {"project": "alpha", **fields}
    return world.client(role).post("/api/v1/targets", data, content_type="application/json")


def test_a_real_scheduler_is_added_by_the_api_under_its_address(world: World, dask: Scheduler) -> None:
    answer = post(world, "editor", url=f"{dask.url}/status")
    assert answer.status_code == 201, answer.content
    target = Target.objects.get(url=dask.url)
    assert answer.json()["id"] == target.pk
    assert target.name == dask.url.removeprefix("http://")
    assert (target.identity_interval, target.metrics_interval) == (1.0, 5.0)


def test_what_cannot_be_reached_and_what_is_no_scheduler_is_refused_with_the_same_words(
    world: World, other_server: str
) -> None:
    nobody = post(world, "editor", url=f"http://127.0.0.1:{free_port()}")
    no_dask = post(world, "editor", url=other_server)
    no_name = post(world, "editor", url="http://no-such-host.invalid:8787")
    for answer in (nobody, no_dask, no_name):
        assert answer.status_code == 422
        [reason] = answer.json()["errors"]["url"]
        assert reason in answer.json()["detail"]
        assert reason.startswith("No Dask scheduler answers at http://")
    assert Target.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"url": "tcp://127.0.0.1:8786"}, "url"),
        ({"url": "http://10.1.2.3:8787"}, "__all__"),
        ({"url": "http://10.1.2.4:8787", "name": "analysis"}, "__all__"),
        ({"url": "http://10.1.2.4:8787", "identity_interval": 0.001}, "identity_interval"),
        ({"url": "http://10.1.2.4:8787", "series_limit": -1}, "series_limit"),
    ],
)
def test_wrong_fields_are_refused_by_name_before_anything_is_probed(
    world: World, fields: dict[str, Any], field: str
) -> None:
    answer = post(world, "owner", **fields)
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == [field]


def test_only_editors_and_owners_set_targets_by_the_api(world: World, dask: Scheduler) -> None:
    one = f"/api/v1/targets/{world.target.pk}"
    for role, status in (("viewer", 403), ("outsider", 404), ("nobody", 404), ("anonymous", 401)):
        client = world.client(role)
        assert post(world, role, url=dask.url).status_code == status
        answer = client.patch(one, {"enabled": False}, content_type="application/json")
        assert answer.status_code == status
        assert client.delete(one).status_code == status
    world.target.refresh_from_db()
    assert world.target.enabled
    assert post(world, "owner", url=dask.url).status_code == 201


def test_a_target_is_changed_in_part_and_only_a_new_address_is_probed(
    world: World, other_server: str
) -> None:
    path = f"/api/v1/targets/{world.target.pk}"
    client = world.client("editor")
    changed = client.patch(path, {"metrics_interval": 30, "enabled": False}, content_type="application/json")
    assert changed.status_code == 200, changed.content
    world.target.refresh_from_db()
    assert (world.target.metrics_interval, world.target.enabled, world.target.name) == (30, False, "analysis")
    assert changed.json()["state"] == "paused"
    refused = client.patch(path, {"url": other_server}, content_type="application/json")
    assert refused.status_code == 422
    world.target.refresh_from_db()
    assert world.target.url == "http://10.1.2.3:8787"


def test_a_name_that_is_taken_is_refused_also_by_a_change(world: World) -> None:
    other = Target.objects.create(project=world.alpha, name="other", url="http://10.1.2.9:8787")
    path = f"/api/v1/targets/{other.pk}"
    answer = world.client("editor").patch(path, {"name": "analysis"}, content_type="application/json")
    assert answer.status_code == 422
    assert "already exists" in answer.json()["detail"]


def test_removing_a_target_keeps_its_clusters(world: World) -> None:
    assert world.client("editor").delete(f"/api/v1/targets/{world.target.pk}").status_code == 204
    world.ended.refresh_from_db()
    assert world.ended.target is None


def test_the_page_adds_a_scheduler_and_shows_why_it_refuses(
    world: World, dask: Scheduler, other_server: str
) -> None:
    client = world.client("editor")
    fields = {
        "project": world.alpha.pk,
        "enabled": "on",
        "identity_interval": 1,
        "metrics_interval": 5,
        "series_limit": 50000,
    }
    refused = client.post("/targets/", {**fields, "url": other_server, "name": "web"})
    assert refused.status_code == 422
    assert b'role="alert"' in refused.content
    assert other_server.encode() in refused.content
    added = client.post("/targets/", {**fields, "url": dask.url, "name": "real"}, follow=True)
    assert b"real is reachable" in added.content
    assert Target.objects.filter(name="real", url=dask.url).exists()


def test_the_page_does_not_add_into_a_project_where_one_may_not(world: World, dask: Scheduler) -> None:
    fields = {"project": world.beta.pk, "identity_interval": 1, "metrics_interval": 5, "series_limit": 1}
    answer = world.client("editor").post("/targets/", {**fields, "url": dask.url})
    assert answer.status_code == 422
    assert not Target.objects.filter(url=dask.url).exists()


def test_pausing_changing_and_removing_in_the_page(world: World) -> None:
    client = world.client("editor")
    one = f"/targets/{world.target.pk}/"
    client.post(f"{one}switch/", {"enabled": "0"})
    world.target.refresh_from_db()
    assert not world.target.enabled
    assert b"Enable" in client.get("/targets/").content
    assert client.get(f"{one}remove/").status_code == 200
    assert Target.objects.exists(), "a GET removed it"
    client.post(f"{one}remove/")
    assert not Target.objects.exists()


def test_the_admin_probes_too_and_shows_the_reason_at_the_field(
    world: World, dask: Scheduler, other_server: str
) -> None:
    client = world.client("superuser")
    fields = {
        "project": world.alpha.pk,
        "name": "by the admin",
        "enabled": "on",
        "identity_interval": 1,
        "metrics_interval": 5,
        "series_limit": 50000,
    }
    for url in (other_server, "http://no-such-host.invalid:8787", f"http://127.0.0.1:{free_port()}"):
        refused = client.post("/admin/clusters/target/add/", {**fields, "url": url})
        assert refused.status_code == 200
        assert list(refused.context["adminform"].form.errors) == ["url"]
    added = client.post("/admin/clusters/target/add/", {**fields, "url": dask.url})
    assert added.status_code == 302
    assert Target.objects.filter(name="by the admin").exists()


@pytest.mark.parametrize(
    ("role", "change", "delete", "name"),
    [
        ("viewer", 403, 403, "analysis"),
        ("editor", 302, 302, "renamed"),
        # told that there is none, as for a target that isn't there
        ("outsider", 302, 302, "analysis"),
    ],
)
def test_staff_set_targets_in_the_admin_only_where_they_are_editors(
    world: World, role: str, change: int, delete: int, name: str
) -> None:
    person = world.people[role]
    person.is_staff = True
    person.save()
    person.user_permissions.set(Permission.objects.filter(content_type__app_label="clusters"))
    client = world.client(role)
    one = f"/admin/clusters/target/{world.target.pk}"
    fields = {"name": "renamed", "url": world.target.url, "identity_interval": 1, "metrics_interval": 5}
    assert client.post(f"{one}/change/", {**fields, "series_limit": 50000}).status_code == change
    world.target.refresh_from_db()
    assert world.target.name == name
    assert client.post(f"{one}/delete/", {"post": "yes"}).status_code == delete
    assert Target.objects.exists() is (role != "editor")
