from __future__ import annotations

import json
import time
from typing import Any

import pytest

from observatory.clusters.models import Cluster
from observatory.runs.models import Note
from tests.support.projects import HOSTILE, World


def notes_of(world: World, cluster: Cluster, role: str = "viewer") -> list[dict[str, Any]]:
    answer = world.client(role).get(f"/api/v1/clusters/{cluster.pk}/notes")
    assert answer.status_code == 200
    notes: list[dict[str, Any]] = answer.json()
    return notes


def send(world: World, role: str, method: str, note: int | None = None, **body: Any) -> Any:
    path = f"/api/v1/clusters/{world.ended.pk}/notes" + (f"/{note}" if note else "")
    return getattr(world.client(role), method)(path, body, content_type="application/json")


def write(world: World, role: str = "editor", at: float = 60, **body: Any) -> Any:
    """A note `at` seconds after the start of the cluster that ended, which lasted for two hours."""
    return send(world, role, "post", **{"time": world.ended.started.timestamp() + at, "text": "hm", **body})


def test_a_note_has_its_time_its_author_and_its_text_as_it_was_written(world: World) -> None:
    answer = write(world, text=HOSTILE)
    assert answer.status_code == 201
    [note] = notes_of(world, world.ended)
    assert (note["text"], note["author"], note["stop"]) == (HOSTILE, "editor", None)
    assert note["time"] == world.ended.started.timestamp() + 60
    assert (note["may_change"], note["edited"]) == (False, None)
    assert notes_of(world, world.live) == []


def test_a_note_of_a_stretch_is_cut_to_what_was_recorded(world: World) -> None:
    began = world.ended.started.timestamp()
    note = write(world, at=-10, stop=began + 10).json()
    assert (note["time"], note["stop"]) == (began, began + 10)


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({"text": ""}, "text", "required"),
        ({"text": "x" * 2001}, "text", "at most 2000 characters"),
        ({"text": "a\0"}, "text", "Null characters"),
        ({"time": None}, "time", "required"),
        ({"stop": 1_000_000_000}, "stop", "must be after the start"),
        ({"at": 8000}, "__all__", "Nothing was recorded in this window"),
    ],
)
def test_what_makes_no_note_is_refused_with_the_reason_at_its_field(
    world: World, body: dict[str, Any], field: str, reason: str
) -> None:
    answer = write(world, **body)
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == [field]
    assert reason in answer.json()["errors"][field][0]
    assert not Note.objects.exists()


def test_a_note_with_half_of_a_surrogate_pair_is_refused(world: World) -> None:
    path = f"/api/v1/clusters/{world.ended.pk}/notes"
    body = json.dumps({"time": world.ended.started.timestamp(), "text": "a\ud800"})
    answer = world.client("editor").post(path, body, content_type="application/json")
    assert answer.status_code == 400
    assert not Note.objects.exists()


def test_a_live_cluster_takes_notes_until_now(world: World) -> None:
    path = f"/api/v1/clusters/{world.live.pk}/notes"
    sent = [{"time": time.time() + ahead, "text": "now"} for ahead in (-1, 0.5, 3600)]
    answers = [world.client("editor").post(path, body, content_type="application/json") for body in sent]
    assert [answer.status_code for answer in answers] == [201, 201, 422]


def test_notes_come_in_order_of_time(world: World) -> None:
    for at in (300, 100, 200):
        write(world, at=at, text=str(at))
    assert [note["text"] for note in notes_of(world, world.ended)] == ["100", "200", "300"]


def test_notes_that_did_not_change_are_not_sent_again(world: World) -> None:
    write(world)
    path = f"/api/v1/clusters/{world.ended.pk}/notes"
    reported = world.client("viewer").get(path)
    known = {"If-None-Match": reported.headers["ETag"]}
    assert world.client("viewer").get(path, headers=known).status_code == 304
    write(world)
    assert world.client("viewer").get(path, headers=known).status_code == 200


def test_viewers_read_notes_and_write_none(world: World) -> None:
    note = write(world).json()["id"]
    assert write(world, "viewer").status_code == 403
    assert send(world, "viewer", "patch", note, text="x").status_code == 403
    assert send(world, "viewer", "delete", note).status_code == 403
    assert len(notes_of(world, world.ended)) == 1


def test_authors_change_their_own_notes_and_owners_any(world: World) -> None:
    of_editor = write(world, "editor").json()["id"]
    of_owner = write(world, "owner").json()["id"]
    assert [note["may_change"] for note in notes_of(world, world.ended, "editor")] == [True, False]
    assert [note["may_change"] for note in notes_of(world, world.ended, "owner")] == [True, True]
    assert send(world, "editor", "patch", of_owner, text="x").status_code == 403
    changed = send(world, "owner", "patch", of_editor, text="better").json()
    assert (changed["text"], changed["author"]) == ("better", "editor")
    assert changed["edited"] is not None
    assert send(world, "editor", "patch", of_editor, text="").status_code == 422
    assert send(world, "editor", "delete", of_editor).status_code == 204
    assert len(notes_of(world, world.ended)) == 1


def test_a_note_is_not_there_for_others_nor_through_another_cluster(world: World) -> None:
    note = write(world).json()["id"]
    for role in ("outsider", "nobody"):
        assert write(world, role).status_code == 404
        assert send(world, role, "delete", note).status_code == 404
    path = f"/api/v1/clusters/{world.elsewhere.pk}/notes/{note}"
    assert world.client("superuser").delete(path).status_code == 404
    assert Note.objects.exists()


def test_a_note_outlives_its_authors_account(world: World) -> None:
    write(world)
    world.people["editor"].delete()
    [note] = notes_of(world, world.ended)
    assert note["author"] is None


def test_a_cluster_has_so_many_notes_and_no_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("observatory.runs.forms.MOST_NOTES", 2)
    assert [write(world).status_code for _ in range(3)] == [201, 201, 422]
