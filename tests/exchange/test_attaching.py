"""People, programs and the command attach profiles and traces, and links share them with code alone."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from observatory.exchange.attachments.answer import attached_profiles
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.exchange.imports.refusal import Refused
from observatory.exchange.models import Job
from observatory.exchange.tasks import work
from observatory.replay.scope import Section
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.scopes import scope_of_link
from observatory.store.times import MAXIMUM_TIME
from tests.exchange.attached_files import ALL, CHROME, attached, written
from tests.exchange.everything import START
from tests.exchange.hostile import nothing
from tests.support.projects import HOSTILE, World


def upload(world: World, run: Run, role: str, path: Path = CHROME, **fields: Any) -> Any:
    file = SimpleUploadedFile(f"{HOSTILE}.json.gz", path.read_bytes())
    client = world.client(role)
    return client.post(reverse("run-attachments", args=[run.pk]), {"file": file, **fields})


def worked() -> Job:
    """The newest job, as Celery's worker left it."""
    job = Job.objects.latest("pk")
    work(job.pk)
    job.refresh_from_db()
    return job


def test_people_attach_shift_and_remove_on_the_runs_page(
    run: Run, world: World, connection: psycopg.Connection
) -> None:
    answer = upload(world, run, "editor", start="2.5")
    job = worked()
    assert (answer.status_code, answer.url) == (302, reverse("job", args=[job.pk]))
    assert (job.state, job.message) == ("done", "")
    assert "Open its profile" in world.client("editor").get(answer.url).content.decode()
    made = run.attachments.get()
    assert made.start == run.start + timedelta(seconds=2.5)
    page = world.client("editor").get(reverse("run-attachments", args=[run.pk])).content.decode()
    assert HOSTILE not in page
    assert "&lt;img src=x onerror=alert(1)&gt;.json.gz" in page
    assert 'value="2.500"' in page
    shift = reverse("attachment-shift", args=[run.pk, made.pk])
    assert world.client("editor").post(shift, {"start": "-1.25"}).status_code == 302
    made.refresh_from_db()
    assert made.start == run.start - timedelta(seconds=1.25)
    assert world.client("editor").post(shift, {"start": "1e300"}).status_code == 302
    made.refresh_from_db()
    assert made.start == run.start - timedelta(seconds=1.25)
    remove = reverse("attachment-remove", args=[run.pk, made.pk])
    assert world.client("editor").post(remove).status_code == 302
    run.refresh_from_db()
    assert run.attached_files == 0


def test_only_editors_may_attach_and_others_dont_see_the_run(
    run: Run, world: World, connection: psycopg.Connection
) -> None:
    assert upload(world, run, "viewer").status_code == 403
    assert upload(world, run, "outsider").status_code == 404
    assert not Job.objects.exists()
    made = attached(CHROME, run)
    page = world.client("viewer").get(reverse("run-attachments", args=[run.pk])).content.decode()
    assert CHROME.name in page
    assert "Shift" not in page.split("<h1>")[1].split("<table")[1]
    for name in ("attachment-shift", "attachment-remove"):
        url = reverse(name, args=[run.pk, made.pk])
        assert world.client("viewer").post(url, {"start": 1}).status_code == 403
        assert world.client("outsider").post(url, {"start": 1}).status_code == 404


def test_a_file_that_cannot_be_read_says_why_on_its_job(
    run: Run, world: World, connection: psycopg.Connection, tmp_path: Path
) -> None:
    answer = upload(world, run, "editor", written(tmp_path, b"<svg></svg>"))
    assert worked().state == "failed"
    page = world.client("editor").get(answer.url).content.decode()
    assert "It is a picture of a profile" in page
    assert "Nothing was attached." in page
    assert upload(world, run, "editor", start="soon").status_code == 422


def test_the_api_attaches_lists_shifts_and_removes(
    run: Run, world: World, connection: psycopg.Connection
) -> None:
    url = f"/api/v1/runs/{run.pk}/attachments"
    client = world.client("editor")

    def post(role: str, **fields: Any) -> Any:
        file = io.BytesIO(CHROME.read_bytes())
        file.name = "trace.json.gz"
        return world.client(role).post(url, {"file": file, **fields})

    assert post("viewer").status_code == 403
    assert post("outsider").status_code == 404
    assert post("editor", start=5).status_code == 422
    made = post("editor", start=START + 1, worker="w0")
    assert made.status_code == 201
    worked()
    assert client.get(f"/api/v1/jobs/{made.json()['id']}").json()["state"] == "done"
    [found] = world.client("viewer").get(url).json()
    assert (found["name"], found["start"], found["is_dated"]) == ("trace.json.gz", START + 1, False)
    assert found["threads"][0]["worker"] is not None
    one = f"{url}/{found['id']}"
    assert world.client("viewer").patch(one, {"start": START}, "application/json").status_code == 403
    assert client.patch(one, {"start": 5}, "application/json").status_code == 422
    assert client.patch(one, {"start": START}, "application/json").json()["start"] == START
    shown = world.client("viewer").get(f"/api/v1/runs/{run.pk}/timeline/attached-profiles").json()
    assert [file["start"] for file in shown["files"]] == [START]
    assert world.client("viewer").get(f"/api/v1/runs/{run.pk}/timeline").json()["attached_files"] == 1
    assert client.delete(one).status_code == 204
    assert client.delete(one).status_code == 404
    assert world.client("outsider").get(url).status_code == 404


def test_the_command_attaches_on_the_server(
    run: Run, connection: psycopg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("attach", str(CHROME), "--run", str(run.pk), "--start", "2026-09-21T14:13:25")
    assert capsys.readouterr().out == f"/runs/{run.pk}/?tab=profile\n"
    assert run.attachments.get().start.isoformat() == "2026-09-21T14:13:25+00:00"
    with pytest.raises(CommandError, match="already"):
        call_command("attach", str(CHROME), "--run", str(run.pk))
    with pytest.raises(CommandError, match="no run 0"):
        call_command("attach", str(CHROME), "--run", "0")
    with pytest.raises(CommandError, match="can't be read"):
        call_command("attach", "/nothing", "--run", str(run.pk))


def test_the_page_import_says_where_profiles_and_traces_belong(
    world: World, connection: psycopg.Connection
) -> None:
    for path in ALL:
        with pytest.raises(Refused, match="attach it to a run"):
            import_file(path, Destination(world.alpha), nothing)


def test_a_public_link_shows_them_with_code_alone_and_without_ids_of_processes(
    run: Run, connection: psycopg.Connection
) -> None:
    attached(CHROME, run)
    run.refresh_from_db()
    link = Permalink(run=run, audience="anyone")
    for shows_code in (False, True):
        link.shows_code = shows_code
        scope = scope_of_link(link)
        found = attached_profiles(connection, scope, 0, MAXIMUM_TIME)
        assert (Section.CODE in scope.sections, scope.attached_files) == (shows_code, int(shows_code))
        assert len(found["files"]) == shows_code
        assert "process 29362" not in json.dumps(found)
