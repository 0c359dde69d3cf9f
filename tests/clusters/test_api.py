from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.support.projects import HOSTILE, World, make_cluster, store_extent


def get(world: World, role: str, path: str, **query: Any) -> Any:
    answer = world.client(role).get(f"/api/v1{path}", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_projects_are_listed_with_ones_role(world: World) -> None:
    assert get(world, "editor", "/projects") == [
        {
            "name": "Alpha",
            "slug": "alpha",
            "retention_days": 30,
            "quota_bytes": None,
            "stored_bytes": None,
            "role": "editor",
        }
    ]
    assert [project["role"] for project in get(world, "superuser", "/projects")] == ["superuser", "superuser"]


def test_clusters_are_listed_newest_first_with_the_stores_counts(world: World) -> None:
    store_extent(world.ended, tasks=1234, errors=5, workers=3)
    page = get(world, "viewer", "/clusters")
    assert (page["count"], page["page"], page["pages"]) == (2, 1, 1)
    assert page["items"][0] == {
        "id": world.ended.pk,
        "name": "evening",
        "project": "alpha",
        "target": "analysis",
        "scheduler_id": "Scheduler-2",
        "address": "tcp://10.0.0.2:8786",
        "started": world.ended.started.timestamp(),
        "last_seen": world.ended.last_seen.timestamp(),
        "ended": world.ended.started.timestamp() + 7200,
        "end_reason": "the scheduler closed",
        "worker_count": 3,
        "task_count": 1234,
        "error_count": 5,
    }
    assert page["items"][1]["ended"] is None


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["secret of beta", "evening", "morning"]),
        ({"state": "live"}, ["morning"]),
        ({"state": "ended"}, ["secret of beta", "evening"]),
        ({"state": "errors"}, ["evening"]),
        ({"project": "beta"}, ["secret of beta"]),
        ({"search": "EVE"}, ["evening"]),
        ({"search": "Scheduler-1"}, ["morning"]),
        ({"search": "10.0.0.3"}, ["secret of beta"]),
        ({"search": "analysis ing"}, ["evening", "morning"]),
        ({"search": "analysis", "state": "live"}, ["morning"]),
        ({"search": "%"}, []),
        ({"search": HOSTILE}, []),
    ],
)
def test_clusters_are_found_by_what_is_asked(world: World, query: dict[str, str], names: list[str]) -> None:
    store_extent(world.ended, errors=1)
    store_extent(world.live, errors=0)
    assert [item["name"] for item in get(world, "superuser", "/clusters", **query)["items"]] == names


def test_clusters_come_in_pages_and_none_is_twice_in_them(world: World) -> None:
    for number in range(10, 17):
        make_cluster(world.alpha, number)
    pages = [get(world, "viewer", "/clusters", page=page, page_size=4) for page in (1, 2, 3, 4)]
    assert [len(page["items"]) for page in pages] == [4, 4, 1, 1]
    assert [page["page"] for page in pages] == [1, 2, 3, 3]
    assert len({item["id"] for page in pages for item in page["items"]}) == 9


@pytest.mark.parametrize(
    "query", ["state=dead", "page=0", "page_size=100000", "page=x", f"search={'x' * 201}"]
)
def test_a_wrong_query_is_refused_as_json_that_names_the_field(world: World, query: str) -> None:
    answer = world.client("viewer").get(f"/api/v1/clusters?{query}")
    assert answer.status_code == 422
    assert query.partition("=")[0] in str(answer.json()["detail"])


def test_one_who_is_not_signed_in_gets_401_as_json(client: Client) -> None:
    for path in ("/clusters", "/projects", "/targets", "/targets/1", "/openapi.json"):
        answer = client.get(f"/api/v1{path}")
        assert answer.status_code == 401
        assert "Sign in" in answer.json()["detail"]


def test_what_is_not_there_is_404_as_json(world: World) -> None:
    for path in ("/nothing", "/targets/1000000"):
        answer = world.client("viewer").get(f"/api/v1{path}")
        assert answer.status_code == 404
        assert answer.json()["detail"]


def test_unsafe_requests_need_the_csrf_token(world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.people["editor"])
    assert client.delete(f"/api/v1/targets/{world.target.pk}").status_code == 403
    client.get("/targets/")
    token = client.cookies["csrftoken"].value
    answer = client.delete(f"/api/v1/targets/{world.target.pk}", headers={"X-CSRFToken": token})
    assert answer.status_code == 204


def test_the_openapi_document_describes_all_of_it(world: World) -> None:
    paths = get(world, "viewer", "/openapi.json")["paths"]
    assert {"/api/v1/projects", "/api/v1/clusters", "/api/v1/targets", "/api/v1/targets/{target_id}"} <= set(
        paths
    )
