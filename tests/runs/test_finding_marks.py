"""Findings that people marked as known or wrong, in all runs of a name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.runs import finding_marks
from observatory.runs.models import FindingMark, Permalink, Run
from observatory.runs.sharing.links import make_link
from tests.support.projects import HOSTILE, World, make_run
from tests.support.recorded_cluster import START
from tests.support.stored_findings import finding, keep
from tests.why.findings.simulated import Simulated, Task, futures

NAME = "nightly"


def make_prefix(cluster: Cluster, name: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO prefix (cluster_id, name, color) VALUES (%s, %s, 0) RETURNING id", [cluster.pk, name]
        )
        return int(cursor.fetchone()[0])


def mark(world: World, run: Run, role: str = "editor", **sent: Any) -> Any:
    body = {"kind": "stragglers", "marked_as": "known", **sent}
    path = f"/api/v1/runs/{run.pk}/finding-marks"
    return world.client(role).post(path, body, content_type="application/json")


def undo(world: World, id: int, role: str = "editor") -> Any:
    return world.client(role).delete(f"/api/v1/finding-marks/{id}")


def marks(world: World, role: str = "viewer", query: str = "") -> list[dict[str, Any]]:
    answer = world.client(role).get(f"/api/v1/finding-marks{query}")
    assert answer.status_code == 200
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def main(run: Run) -> tuple[str, str]:
    known = Run.objects.get(pk=run.pk).known_findings
    assert known is not None
    return known.state, known.kind


@pytest.fixture
def run(world: World) -> Run:
    made = make_run(world.ended, NAME)
    return keep(made, finding("stragglers", 9.0, "load"), finding("client", 5.0))


@pytest.mark.django_db(transaction=True)
def test_a_mark_says_who_marked_which_finding_of_which_runs_and_when(world: World, run: Run) -> None:
    prefix = make_prefix(world.ended, "load")
    made = mark(world, run, prefixes=[prefix], marked_as="wrong")
    assert made.status_code == 201
    [item] = marks(world)
    assert item == made.json()
    told = {
        name: item[name] for name in ("project", "run_name", "kind", "prefixes", "marked_as", "by", "run")
    }
    assert told == {
        **{"project": "alpha", "run_name": NAME, "kind": "stragglers", "prefixes": ["load"]},
        **{"marked_as": "wrong", "by": "editor", "run": run.pk},
    }
    assert item["sentence"] == "stragglers of load cost 9.0."
    assert item["created"] == pytest.approx(FindingMark.objects.get().created.timestamp())


def test_a_marked_finding_is_not_the_main_one_until_that_is_undone(world: World, run: Run) -> None:
    made = mark(world, run).json()
    assert main(run) == ("found", "client")
    other = mark(world, run, kind="client").json()
    assert main(run) == ("marked", "")
    assert undo(world, made["id"]).status_code == 204
    finding_marks.keep_main_findings(world.alpha.pk, NAME)
    assert main(run) == ("found", "stragglers")
    assert [one["id"] for one in marks(world)] == [other["id"]]


def test_a_mark_holds_in_all_runs_of_the_name_and_in_no_others(world: World, run: Run) -> None:
    earlier, other = (
        keep(make_run(world.live, name, at=30), finding("stragglers", 3.0, "load"))
        for name in (NAME, "weekly")
    )
    elsewhere = keep(make_run(world.elsewhere, NAME), finding("stragglers", 3.0, "load"))
    mark(world, run)
    finding_marks.keep_main_findings(world.alpha.pk, NAME)
    assert main(earlier) == ("marked", "")
    assert main(other) == main(elsewhere) == ("found", "stragglers")


def test_a_run_that_gets_the_name_gets_its_marks(world: World, run: Run) -> None:
    other = keep(make_run(world.ended, "weekly", at=30), finding("stragglers", 3.0, "load"))
    mark(world, run)
    path = f"/api/v1/runs/{other.pk}"
    world.client("editor").patch(path, {"name": NAME}, content_type="application/json")
    assert main(other) == ("marked", "")


@pytest.mark.django_db(transaction=True)
def test_a_finding_of_other_prefixes_is_another_one(world: World, run: Run) -> None:
    keep(
        other := make_run(world.ended, NAME, at=30),
        finding("stragglers", 3.0, "save"),
        finding("stragglers", 2.0, "load", "store"),
    )
    mark(world, run, prefixes=[make_prefix(world.ended, "load")])
    finding_marks.keep_main_findings(world.alpha.pk, NAME)
    assert main(other) == ("found", "stragglers")
    known = Run.objects.get(pk=other.pk).known_findings
    assert known is not None
    assert known.sentence == "stragglers of save cost 3.0."


def test_marking_again_replaces_the_mark(world: World, run: Run) -> None:
    mark(world, run)
    mark(world, run, "owner", marked_as="wrong")
    [item] = marks(world)
    assert (item["marked_as"], item["by"]) == ("wrong", "owner")


@pytest.mark.parametrize("role", ["viewer", "outsider", "nobody", "anonymous"])
def test_only_editors_and_owners_mark_and_undo(world: World, run: Run, role: str) -> None:
    refused = {"viewer": 403, "anonymous": 401}.get(role, 404)
    assert mark(world, run, role).status_code == refused
    made = mark(world, run, "owner").json()
    assert undo(world, made["id"], role).status_code == refused
    assert FindingMark.objects.count() == 1


def test_marks_of_other_projects_are_not_listed(world: World, run: Run) -> None:
    mark(world, run)
    assert marks(world, "outsider") == marks(world, "nobody") == []
    assert len(marks(world, "superuser")) == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"kind": "no such kind"}, 422),
        ({"kind": "x" * 51}, 422),
        ({"prefixes": [2_000_000_000]}, 422),
        ({"prefixes": [1] * 21}, 422),
        ({"marked_as": "hidden"}, 422),
        ({"marked_as": ""}, 422),
    ],
)
def test_what_is_no_finding_is_refused(world: World, run: Run, sent: dict[str, Any], status: int) -> None:
    assert mark(world, run, **sent).status_code == status
    assert not FindingMark.objects.exists()


def test_a_name_has_a_limited_number_of_marks(
    world: World, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding_marks, "MOST_OF_A_NAME", 1)
    mark(world, run)
    answer = mark(world, run, kind="client")
    assert answer.status_code == 422
    assert "maximum" in answer.json()["detail"]
    assert mark(world, run, marked_as="wrong").status_code == 201  # replaces the one that is there


@pytest.mark.django_db(transaction=True)
def test_hostile_names_are_escaped_on_the_page_and_are_no_formulas_in_the_file(world: World) -> None:
    hostile = make_run(world.ended, f"=1+1{HOSTILE}")
    prefix = make_prefix(world.ended, f"@load{HOSTILE}")
    keep(hostile, finding("stragglers", 9.0, f"@load{HOSTILE}", sentence=f"-{HOSTILE}"))
    assert mark(world, hostile, prefixes=[prefix]).status_code == 201
    page = world.client("viewer").get("/runs/finding-marks/").content.decode()
    assert HOSTILE not in page
    assert "&lt;img src=x" in page
    file = world.client("viewer").get("/api/v1/finding-marks?format=csv")
    assert file.headers["Content-Type"].startswith("text/csv")
    [header, row] = file.content.decode().strip().split("\r\n")
    assert header == "id,project,run_name,kind,prefixes,marked_as,by,created,run,sentence"
    assert f",'=1+1{HOSTILE}," in row
    assert f",'@load{HOSTILE}," in row
    assert f",'-{HOSTILE}" in row


def test_the_page_lists_marks_and_those_who_may_can_undo_them(world: World, run: Run) -> None:
    made = mark(world, run).json()
    assert "Undo" not in world.client("viewer").get("/runs/finding-marks/").content.decode()
    page = world.client("editor").get(f"/runs/finding-marks/?name={NAME}").content.decode()
    assert "Undo" in page
    assert "Stragglers and skewed partitions" in page
    assert "by editor" in page
    remove = f"/runs/finding-marks/{made['id']}/remove/"
    assert world.client("viewer").post(remove).status_code == 403
    assert world.client("outsider").post(remove).status_code == 404
    assert world.client("editor").post(remove).status_code == 302
    assert not FindingMark.objects.exists()


def test_a_mark_outlives_the_run_and_the_person(world: World, run: Run) -> None:
    mark(world, run)
    run.delete()
    world.people["editor"].delete()
    [item] = marks(world)
    assert (item["run"], item["by"]) == (None, None)


def test_the_card_and_the_list_say_that_all_findings_are_marked(world: World, run: Run) -> None:
    run.stop = run.start + timedelta(minutes=1)
    mark(world, run)
    mark(world, run, kind="client")
    assert "all are marked as known or wrong" in world.client("viewer").get("/runs/").content.decode()
    listed = world.client("viewer").get("/api/v1/runs?finding=marked").json()["items"]
    assert [one["main_finding"]["state"] for one in listed] == ["marked"]


@pytest.mark.django_db(transaction=True)
def test_marked_findings_are_last_and_public_links_do_not_say_who_marked_them(world: World) -> None:
    cluster = Simulated([*futures(60, 0.5), Task("work-60", 9)]).record()
    cluster.project = world.alpha
    cluster.save()
    start, stop = (datetime.fromtimestamp(START + after, UTC) for after in (0, 14))
    run = Run.objects.create(
        cluster=cluster, name="nightly", origin=Run.Origin.CUT, start=start, stop=stop, counted=stop
    )
    path = f"/api/v1/runs/{run.pk}/timeline/findings"
    [before] = world.client("viewer").get(path).json()["findings"]
    assert (before["kind"], before.get("mark")) == ("stragglers", None)
    editor = world.people["editor"]
    finding_marks.mark(run, editor, {"kind": "stragglers", "prefixes": ["work"]}, "wrong")
    [found] = world.client("viewer").get(path).json()["findings"]
    assert (found["mark"]["marked_as"], found["mark"]["by"]) == ("wrong", "editor")
    [of_cluster] = world.client("viewer").get(f"/api/v1/clusters/{cluster.pk}/findings").json()["findings"]
    assert of_cluster.get("mark") is None
    link = make_link(Permalink(run=run, audience=Permalink.Audience.ANYONE), editor)
    answer = Client().get(f"/api/v1/r/{link.token}/findings")
    assert answer.json()["findings"][0]["mark"] == {
        "marked_as": "wrong",
        "created": found["mark"]["created"],
    }
    assert b"editor" not in answer.content
