from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from observatory.runs.models import MOST_TAGS, Permalink, Run
from observatory.runs.sharing.link_tokens import stored
from observatory.store.connection import connect
from tests.support.projects import HOSTILE, World, make_run
from tests.support.recorded_cluster import START, Recorded
from tests.support.stored_findings import finding, keep

API = "/api/v1/runs"


@pytest.fixture
def world(world: World) -> World:
    """The world without its run."""
    world.run.delete()
    return world


def send(world: World, role: str, method: str, path: str, **body: Any) -> Any:
    call = getattr(world.client(role), method)
    return call(f"{API}{path}", body, content_type="application/json")


def cut(
    world: World, role: str = "editor", start: float | None = 600, stop: float = 1200, **body: Any
) -> Any:
    """Times are seconds after the start of the cluster that ended, which lasted for two hours."""
    began = world.ended.started.timestamp()
    window = {"start": None if start is None else began + start, "stop": began + stop}
    return send(world, role, "post", "", **{"cluster": world.ended.pk, "name": "peak", **window, **body})


def test_a_run_is_cut_out_of_a_clusters_time(world: World) -> None:
    answer = cut(world, tags={"git": "3f2a1c"})
    assert answer.status_code == 201
    run = answer.json()
    began = world.ended.started.timestamp()
    assert (run["start"], run["stop"]) == (began + 600, began + 1200)
    assert (run["name"], run["origin"], run["outcome"]) == ("peak", "cut", "finished")
    assert (run["project"], run["cluster"], run["tags"]) == ("alpha", world.ended.pk, {"git": "3f2a1c"})
    assert run["figures"]["tasks"] == 0
    assert Run.objects.get().created_by == world.people["editor"]
    assert world.client("viewer").get(f"{API}/{run['id']}").json() == run


def test_a_window_beyond_what_was_recorded_is_cut_to_it(world: World) -> None:
    run = cut(world, start=-600, stop=9000).json()
    assert (run["start"], run["stop"]) == (world.ended.started.timestamp(), world.ended.ended.timestamp())


@pytest.mark.django_db(transaction=True)
def test_a_run_with_errors_in_its_window_is_one_with_errors_and_is_counted(world: World) -> None:
    with connect() as connection:
        recorded = Recorded(connection, world.ended.pk)
        recorded.worker("tcp://10.0.0.1:4000", "a")
        recorded.span("one", "tcp://10.0.0.1:4000", 1, 2)
        recorded.span("two", "tcp://10.0.0.1:4000", 2, 4)
        recorded.error(3, "two")
    run = send(
        world, "editor", "post", "", cluster=world.ended.pk, name="x", start=START, stop=START + 10
    ).json()
    assert (run["tasks"], run["errors"], run["outcome"]) == (2, 1, "erred")
    assert run["figures"]["seconds"] == {"compute": 3.0}


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({"name": ""}, "name", "required"),
        ({"name": "x" * 201}, "name", "at most 200 characters"),
        ({"name": "a\0"}, "name", "Null characters"),
        ({"start": None}, "start", "required"),
        ({"start": 1e12}, "start", "between the years 2000 and 2100"),
        ({"start": 1200, "stop": 600}, "stop", "must be after the start"),
        ({"start": 1200, "stop": 1200}, "stop", "must be after the start"),
        ({"start": 20_000, "stop": 30_000}, "__all__", "between 2026-05-06 12:00:00 and"),
        ({"start": -600, "stop": 0}, "stop", "Nothing was recorded between"),
        ({"tags": {"": "x"}}, "tags", "needs a name"),
        ({"tags": {"a": "x" * 201}}, "tags", "longer than 200"),
        ({"tags": {"a=b": "x"}}, "tags", "without “=”"),
        ({"tags": {"a": "x\0"}}, "tags", "unprintable"),
        ({"tags": {str(number): "x" for number in range(MOST_TAGS + 1)}}, "tags", "at most 50"),
        ({"tags": "git = 1\ngit = 2"}, "tags", "appears twice"),
    ],
)
def test_what_makes_no_run_is_refused_with_the_reason_at_its_field(
    world: World, body: dict[str, Any], field: str, reason: str
) -> None:
    answer = cut(world, **body)
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == [field]
    assert reason in answer.json()["errors"][field][0]
    assert reason in answer.json()["detail"]
    assert not Run.objects.exists()


def test_tags_may_be_sent_as_people_write_them(world: World) -> None:
    assert cut(world, tags="git = 3f2a1c\n\nurgent").json()["tags"] == {"git": "3f2a1c", "urgent": ""}


def test_only_editors_cut_and_change_runs_of_clusters_that_they_see(world: World) -> None:
    assert cut(world, "viewer").status_code == 403
    assert cut(world, "outsider").status_code == 404
    run = make_run(world.ended)
    for role, status in (("viewer", 403), ("outsider", 404), ("nobody", 404)):
        assert send(world, role, "patch", f"/{run.pk}", name="mine").status_code == status
        assert send(world, role, "delete", f"/{run.pk}").status_code == status
    run.refresh_from_db()
    assert run.name == "run"


def test_a_cluster_has_so_many_cut_runs_and_no_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("observatory.runs.forms.MOST_CUT", 2)
    answers = [cut(world) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201, 201, 422]
    assert "This cluster has 2 runs that were cut by hand, the maximum." in answers[-1].json()["detail"]


def test_a_change_leaves_what_it_does_not_name(world: World) -> None:
    run = make_run(world.ended, "old", tags={"git": "1"}, pinned=True)
    changed = send(world, "editor", "patch", f"/{run.pk}", name="new").json()
    assert (changed["name"], changed["tags"], changed["pinned"]) == ("new", {"git": "1"}, True)
    changed = send(world, "owner", "patch", f"/{run.pk}", tags={}, pinned=False).json()
    assert (changed["name"], changed["tags"], changed["pinned"]) == ("new", {}, False)
    assert send(world, "owner", "patch", f"/{run.pk}", name="").status_code == 422


def test_a_deleted_run_takes_its_links_along_and_leaves_the_cluster(world: World) -> None:
    run = make_run(world.ended)
    Permalink.objects.create(run=run, **stored("t"))
    assert send(world, "editor", "delete", f"/{run.pk}").status_code == 204
    assert not Permalink.objects.exists()
    assert world.client("viewer").get(f"{API}/{run.pk}").status_code == 404
    assert world.client("viewer").get(f"/api/v1/clusters/{world.ended.pk}").status_code == 200


def test_runs_are_listed_in_pages_as_they_are_asked_for(world: World) -> None:
    for number in range(3):
        make_run(world.ended, f"etl {number}", number * 10, 5, tags={"git": str(number)})
    make_run(world.elsewhere, "secret of beta")

    def get(**query: Any) -> Any:
        return world.client("viewer").get(API, query).json()

    assert [run["name"] for run in get(order="name")["items"]] == ["etl 0", "etl 1", "etl 2"]
    page = get(page_size=2, page=2)
    assert ([run["name"] for run in page["items"]], page["count"], page["pages"]) == (["etl 0"], 3, 2)
    assert get(tag="git=1")["count"] == 1
    assert get(since=world.ended.started.timestamp() + 300)["count"] == 2
    assert get(shortest=301)["count"] == 0


def test_runs_like_another_one_have_its_name_in_its_project(world: World) -> None:
    runs = [make_run(world.ended, "etl", number * 10, 5) for number in range(2)]
    make_run(world.ended, "etl of today")
    make_run(world.elsewhere, "etl")
    viewer = world.client("viewer")
    found = viewer.get(API, {"like": runs[0].pk}).json()
    assert {run["id"] for run in found["items"]} == {run.pk for run in runs}
    before = viewer.get(API, {"like": runs[1].pk, "until": runs[1].start.timestamp()}).json()
    assert [run["id"] for run in before["items"]] == [runs[0].pk]
    assert world.client("outsider").get(API, {"like": runs[0].pk}).status_code == 404


@pytest.mark.parametrize(
    "query",
    [{"order": "age"}, {"page_size": 1000}, {"tag": "=x"}, {"since": 1}, {"shortest": "nan"}, {"like": 0}],
)
def test_a_query_that_makes_no_sense_is_named(world: World, query: dict[str, Any]) -> None:
    answer = world.client("viewer").get(API, query)
    assert answer.status_code == 422
    assert next(iter(query)) in json.dumps(answer.json())


def test_a_page_from_elsewhere_can_cut_nothing(world: World) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(world.people["editor"])
    body = {"cluster": world.ended.pk, "name": "x", "start": 1, "stop": 2}
    assert browser.post(API, body, content_type="application/json").status_code == 403


def test_hostile_names_come_back_as_they_are(world: World) -> None:
    run = cut(world, name=HOSTILE, tags={HOSTILE.replace("=", ""): HOSTILE}).json()
    assert run["name"] == HOSTILE
    assert list(run["tags"].values()) == [HOSTILE]


def test_a_run_has_its_main_finding_once_it_was_looked_at(world: World) -> None:
    run, other = make_run(world.ended, "etl"), make_run(world.ended, "other")
    keep(run, finding("gil", 30, sentence=f"{HOSTILE} holds the GIL."), finding("idle", 3))
    keep(other, state="too-large")
    client = world.client("viewer")
    [found] = client.get(f"{API}?finding=gil").json()["items"]
    assert found["main_finding"] == {
        "state": "found",
        "kind": "gil",
        "sentence": f"{HOSTILE} holds the GIL.",
        "thread_seconds": 30,
        "wall_seconds": 15,
    }
    assert client.get(f"{API}/{other.pk}").json()["main_finding"]["state"] == "too-large"
    assert client.get(f"{API}/{make_run(world.live).pk}").json()["main_finding"] is None
    assert world.client("outsider").get(f"{API}?finding=gil").json()["items"] == []
