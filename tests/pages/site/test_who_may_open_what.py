"""Every URL there is, as people of every role: a URL that isn't described here fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from observatory.alerts.models import Alert
from observatory.clusters.models import Discovery
from tests.support.projects import World, make_run
from tests.support.stored_alerts import make_alert

PUBLIC = {
    "favicon.ico",
    "sign-in/",
    "sign-in/once/<str:number>/<str:token>/",
    "join/<str:token>/",
    "join/<str:token>/account/",
    "healthz",
    "readyz",
    "metrics",
    "scim/v2/<str:kind>",
    "scim/v2/<str:kind>/<str:id>",
    "r/<str:token>",
    "r/<str:token>/picture.png",
    "r/<str:token>/logs",
    "r/<str:token>/errors",
    "clusters/<int:cluster_id>/individual-plots.json",
    "clusters/<int:cluster_id>/individual-<slug:chart>",
}
"""what needs no sign-in; /metrics and /scim/v2/ have rules of their own, /r/ and /join/ ask for a link's
token, and pages for frames (tests/pages/framed/) say themselves that one has to sign in first"""

SAME_FOR_ALL = "clusters/<int:cluster_id>/individual-plots.json"
"""tells nothing of the cluster"""

SIGN_IN = ("/sign-in/?next=/", "/admin/login/?next=/")

PLACES: dict[str, Any] = {
    "action": "spans",
    "app_label": "clusters",
    "attachment_id": 1,
    "deletion_id": 1,
    "error_id": "00000000-0000-4000-8000-000000000001",
    "filter_id": 1,
    "from_field": "id",
    "id": 1,
    "job_id": 1,
    "index": 1,
    "invitation_id": 1,
    "kind": "span",
    "layer": "spans",
    "level": 20,
    "link_id": 1,
    "mark_id": 1,
    "membership_id": 1,
    "note_id": 1,
    "number": "MQ",
    "object_id": 1,
    "chart": "task-stream",
    "code_id": "01234567-89ab-cdef-0123-456789abcdef",
    "prefix": 1,
    "reference": "1",
    "worker": 1,
    "worker_id": 1,
    "slug": "alpha",
    "token": "abc-def",
    "token_id": 1,
    "url": "nothing",
}
"""what stands for each placeholder of a URL, beside the ids of the world's own"""

PROJECTS_URL = re.compile(
    r"(?!admin/).*<[a-z]*:?(slug|cluster_id|target_id|discovery_id|cluster|membership_id|run_id|job_id|alert_id)>"
)
"""what belongs to one project"""


@pytest.fixture
def world(world: World) -> World:
    """The world, in whose live cluster an alert fires, with a discovery."""
    make_alert(world.live)
    Discovery.objects.create(
        project=world.alpha, name="list of alpha", kind="http_sd", address="http://10.2.2.2/"
    )
    return world


def every_route(resolver: Any = None, prefix: str = "") -> Iterator[str]:
    for entry in (resolver or get_resolver()).url_patterns:
        route = prefix + str(entry.pattern).replace("^", "").replace("\\Z", "").replace("$", "")
        if isinstance(entry, URLResolver):
            yield from every_route(entry, route)
        elif isinstance(entry, URLPattern):
            yield route


def path_of(route: str, world: World) -> str:
    """A path of the route; raises KeyError for a placeholder that nothing here stands for."""
    places = {
        **PLACES,
        "cluster_id": world.live.pk,
        "cluster": world.live.pk,
        "target_id": world.target.pk,
        "discovery_id": Discovery.objects.get().pk,
        "run_id": world.run.pk,
        "alert_id": Alert.objects.get().pk,
    }
    path = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"<\1>", route)
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(places[match[1]]), path)


def test_without_signing_in_only_what_is_public_opens(world: World, client: Client) -> None:
    routes = list(every_route())
    assert len(routes) > 40
    for route in routes:
        path = path_of(route, world)
        for method in (client.get, client.post):
            answer = method(path)
            if route in PUBLIC:
                assert not answer.headers.get("Location", "").startswith("/sign-in/"), path
            elif route.startswith("api/v1/r/"):
                assert answer.status_code in (404, 401, 422), path
            elif route.startswith("api/"):
                assert answer.status_code == 401, path
                assert answer.json()["detail"]
            else:
                assert answer.status_code == 302, path
                assert answer.headers["Location"].startswith(SIGN_IN), path


@pytest.mark.parametrize("role", ["outsider", "nobody"])
def test_what_belongs_to_a_project_is_not_there_for_who_is_no_member(world: World, role: str) -> None:
    routes = [route for route in every_route() if PROJECTS_URL.match(route) and route != SAME_FOR_ALL]
    assert len(routes) > 10
    for route in routes:
        path = path_of(route, world)
        client = world.client(role)
        answers = [
            client.get(f"{path}?at=1&lane=1&ids=1&key=x&q=x&label=x&a=x&b=y&of=spans/20/1"),
            client.post(path, {}, content_type="application/json"),
            client.delete(path),
        ]
        for answer in answers:
            assert answer.status_code in (404, 405), path
            assert b"Alpha" not in answer.content
        assert 404 in [answer.status_code for answer in answers], path


# what each role gets; a superuser gets what an owner gets
TABLE = [
    ("GET", "/clusters/", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/clusters/{live}/", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/clusters/{live}/errors/", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/clusters/{live}/logs/", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/clusters/{live}/tasks/?key=x", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/clusters/{live}/runs/", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/runs/", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/runs/{run}/settings/", {"viewer": 403, "editor": 200, "owner": 200}),
    ("POST", "/runs/{run}/settings/", {"viewer": 403, "editor": 422, "owner": 422}),
    ("POST", "/runs/change/", {"viewer": 302, "editor": 302, "owner": 302, "outsider": 302, "nobody": 302}),
    ("POST", "/runs/delete/", {"viewer": 302, "editor": 302, "owner": 302, "outsider": 302, "nobody": 302}),
    ("POST", "/runs/filters/", {"viewer": 302, "editor": 302, "owner": 302, "outsider": 302, "nobody": 302}),
    ("POST", "/runs/filters/1/remove/", {"viewer": 404, "editor": 404, "owner": 404}),
    ("GET", "/runs/{run}/", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/errors/", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/api/v1/errors", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/usage/", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/api/v1/usage", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/audit/", {"viewer": 403, "editor": 403, "owner": 200, "outsider": 200, "nobody": 403}),
    ("GET", "/api/v1/audit", {"viewer": 403, "editor": 403, "owner": 200, "outsider": 200, "nobody": 403}),
    ("GET", "/runs/{run}/links/", {"viewer": 200, "editor": 200, "owner": 200}),
    ("POST", "/runs/{run}/links/", {"viewer": 403, "editor": 422, "owner": 422}),
    ("POST", "/runs/{run}/links/1/revoke/", {"viewer": 403, "editor": 404, "owner": 404}),
    ("GET", "/api/v1/runs/{run}/timeline", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/runs/{run}/export/", {"viewer": 200, "editor": 200, "owner": 200}),
    ("POST", "/runs/{run}/export/", {"viewer": 422, "editor": 422, "owner": 422}),
    ("GET", "/import/", {"viewer": 403, "editor": 200, "owner": 200, "outsider": 200, "nobody": 403}),
    ("POST", "/import/", {"viewer": 403, "editor": 422, "owner": 422, "outsider": 422, "nobody": 403}),
    (
        "GET",
        "/runs/compare/",
        {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200},
    ),
    ("GET", "/runs/compare/?a={run}", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/runs/compare/?a={run}&b={run}", {"viewer": 200, "editor": 200, "owner": 200}),
    (
        "GET",
        "/runs/history/?project=alpha&name=nightly of alpha",
        {"viewer": 200, "editor": 200, "owner": 200},
    ),
    ("GET", "/api/v1/runs/compare?a={run}&b={run}", {"viewer": 200, "editor": 200, "owner": 200}),
    (
        "GET",
        "/api/v1/runs/memory?runs={run}",
        {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200},
    ),
    ("GET", "/alerts/", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/alerts/flag/", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/alerts/{alert}/", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/alerts/{alert}/history/", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/alerts/{alert}/findings/", {"viewer": 200, "editor": 200, "owner": 200}),
    ("POST", "/alerts/{alert}/acknowledge/", {"viewer": 403, "editor": 302, "owner": 302}),
    ("POST", "/alerts/{alert}/silence/", {"viewer": 403, "editor": 422, "owner": 422}),
    ("GET", "/api/v1/alerts", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/api/v1/alerts/{alert}", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/alerts", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/runs/{run}/timeline/alerts", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/targets/", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("POST", "/targets/", {"viewer": 403, "editor": 422, "owner": 422, "outsider": 422, "nobody": 403}),
    ("GET", "/targets/{target}/", {"viewer": 403, "editor": 200, "owner": 200}),
    ("POST", "/targets/{target}/", {"viewer": 403, "editor": 422, "owner": 422}),
    (
        "GET",
        "/targets/{target}/switch/",
        {"viewer": 405, "editor": 405, "owner": 405, "outsider": 405, "nobody": 405},
    ),
    ("POST", "/targets/{target}/switch/", {"viewer": 403, "editor": 302, "owner": 302}),
    ("GET", "/targets/{target}/remove/", {"viewer": 403, "editor": 200, "owner": 200}),
    (
        "GET",
        "/targets/discoveries/add/",
        {"viewer": 403, "editor": 200, "owner": 200, "outsider": 200, "nobody": 403},
    ),
    (
        "POST",
        "/targets/discoveries/add/",
        {"viewer": 403, "editor": 422, "owner": 422, "outsider": 422, "nobody": 403},
    ),
    ("GET", "/targets/discoveries/{discovery}/", {"viewer": 403, "editor": 200, "owner": 200}),
    ("POST", "/targets/discoveries/{discovery}/", {"viewer": 403, "editor": 422, "owner": 422}),
    ("POST", "/targets/discoveries/{discovery}/switch/", {"viewer": 403, "editor": 302, "owner": 302}),
    ("GET", "/targets/discoveries/{discovery}/remove/", {"viewer": 403, "editor": 200, "owner": 200}),
    ("GET", "/projects/", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/projects/alpha/", {"viewer": 200, "editor": 200, "owner": 200}),
    ("POST", "/projects/alpha/", {"viewer": 403, "editor": 403, "owner": 422}),
    ("POST", "/projects/alpha/tokens/", {"viewer": 403, "editor": 422, "owner": 422}),
    ("POST", "/projects/alpha/members/", {"viewer": 403, "editor": 403, "owner": 422}),
    ("POST", "/projects/alpha/invitations/", {"viewer": 403, "editor": 403, "owner": 422}),
    ("POST", "/projects/alpha/invitations/1/revoke/", {"viewer": 403, "editor": 403, "owner": 404}),
    ("GET", "/api/v1/projects/alpha/invitations", {"viewer": 403, "editor": 403, "owner": 200}),
    (
        "GET",
        "/account/password/",
        {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200},
    ),
    (
        "GET",
        "/account/tokens/",
        {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200},
    ),
    ("POST", "/account/tokens/1/revoke/", {"viewer": 404, "editor": 404, "owner": 404}),
    ("GET", "/api/v1/runs/{run}/records", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/runs/{run}/records/span", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/projects", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/api/v1/clusters", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/api/v1/clusters/{live}", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/runs", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/api/v1/runs/{run}", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/lineage?key=x", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/outliers", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/results?at=1", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/workers?at=1", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/workers/1/running?at=1", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/transfers", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/fine-performance", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/group-graph", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/task-graph", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/prefixes", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/prefixes/1", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/groups", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/thread-times", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/findings", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/critical-path", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/what-if", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/what-if/prediction", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/clusters/{live}/notes", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/api/v1/targets", {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200}),
    ("GET", "/api/v1/targets/{target}", {"viewer": 200, "editor": 200, "owner": 200}),
    (
        "GET",
        "/api/v1/discoveries",
        {"viewer": 200, "editor": 200, "owner": 200, "outsider": 200, "nobody": 200},
    ),
    ("GET", "/api/v1/discoveries/{discovery}", {"viewer": 200, "editor": 200, "owner": 200}),
    ("GET", "/admin/", {"viewer": 302, "editor": 302, "owner": 200, "outsider": 200, "nobody": 302}),
    ("GET", "/admin/login/", {"viewer": 403, "editor": 403, "owner": 403, "outsider": 403, "nobody": 403}),
]


@pytest.mark.parametrize(
    ("method", "template", "statuses"), TABLE, ids=[f"{row[0]} {row[1]}" for row in TABLE]
)
def test_each_role_gets_what_the_table_says(
    world: World, method: str, template: str, statuses: dict[str, int]
) -> None:
    alert = Alert.objects.get().pk
    path = template.format(
        live=world.live.pk,
        target=world.target.pk,
        discovery=Discovery.objects.get().pk,
        run=world.run.pk,
        alert=alert,
    )
    for role in ("viewer", "editor", "owner", "outsider", "nobody"):
        answer = getattr(world.client(role), method.lower())(path)
        assert answer.status_code == statuses.get(role, 404), f"{role}: {answer.content[-500:]!r}"


def test_lists_hold_nothing_of_projects_that_one_is_not_in(world: World) -> None:
    viewer, outsider = world.client("viewer"), world.client("outsider")
    make_run(world.live, "morning run of Alpha")
    make_run(world.elsewhere, "run of beta")
    make_alert(world.elsewhere, "memory pressure", message="alert of beta")
    for path in (
        "/clusters/",
        "/targets/",
        "/projects/",
        "/runs/",
        "/alerts/?state=all",
        "/api/v1/alerts",
        "/api/v1/runs",
        "/api/v1/clusters",
        "/api/v1/targets",
        "/api/v1/discoveries",
        "/api/v1/projects",
    ):
        assert b"beta" not in viewer.get(path).content.lower(), path
        seen = outsider.get(path).content
        assert not any(word in seen for word in (b"Alpha", b"alpha", b"analysis", b"morning")), path
    # naming a project that one isn't in shows nothing of it either
    assert b"secret of beta" not in viewer.get("/clusters/?project=beta").content
    assert b"Beta" not in viewer.get("/targets/?project=beta").content
