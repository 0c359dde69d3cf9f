"""Exports and imports as jobs: started on a page, done by Celery, cancelled, downloaded, removed again."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

import pytest
from celery.contrib.testing.worker import start_worker
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection as django_connection
from django.utils.timezone import now

from observatory.config.celery import app
from observatory.exchange.formats import FORMATS
from observatory.exchange.formats.base import Progress
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.exchange.jobs import folder, jobs
from observatory.exchange.models import Job
from observatory.exchange.tasks import sweep_jobs, work
from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.store.connection import connect
from observatory.store.maintenance import keyframes
from observatory.store.maintenance.advisory_lock import try_lock
from tests.exchange.files import Store
from tests.support.projects import World


class Endless:
    """A format that is never done."""

    name, label, suffix, content_type = "endless", "Endless", ".txt", "text/plain"

    def __init__(self) -> None:
        self.started = threading.Event()

    def write(self, scope: Scope, title: str, file: IO[bytes], progress: Progress) -> None:
        while True:
            file.write(b"more")
            progress(0.5)
            self.started.set()
            time.sleep(0.01)


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Endless:
    format = Endless()
    monkeypatch.setitem(FORMATS, "endless", format)
    return format


@pytest.fixture
def celery(transactional_db: None) -> Iterator[None]:
    """A worker of Celery, as `up` starts it, in this process."""
    app.control.purge()
    with start_worker(app, pool="threads", concurrency=2, perform_ping_check=False):
        yield


def files() -> list[str]:
    return sorted(path.name for path in folder.path_of(0).parent.glob("*"))


def eventually(job: Job, *states: str) -> Job:
    deadline = time.monotonic() + 120
    while job.state not in states:
        assert time.monotonic() < deadline, (job.state, job.message)
        time.sleep(0.05)
        job.refresh_from_db()
    return job


def upload(world: World, role: str, data: bytes, project: Any = None, **fields: str) -> Any:
    sent = {
        "file": SimpleUploadedFile("saved file.zip", data),
        "project": (project or world.alpha).pk,
        **fields,
    }
    return world.client(role).post("/import/", sent)


def test_a_member_exports_a_run_and_downloads_it(
    run: Run, world: World, celery: None, tmp_path: Path
) -> None:
    viewer = world.client("viewer")
    answer = viewer.post(f"/runs/{run.pk}/export/", {"format": "bundle"})
    job = eventually(Job.objects.get(), "done", "failed")
    assert answer.headers["Location"] == f"/jobs/{job.pk}/"
    recorded = viewer.get(f"/api/v1/jobs/{job.pk}").json()
    assert (recorded["state"], recorded["progress"], recorded["kind"]) == ("done", 1.0, "export")
    assert recorded["download"] == f"/jobs/{job.pk}/download/"
    page = viewer.get(f"/jobs/{job.pk}/").content.decode()
    assert recorded["download"] in page
    download = viewer.get(recorded["download"])
    assert download.headers["Content-Type"] == "application/zip"
    assert 'filename="nightly-etl.observatory.zip"' in download.headers["Content-Disposition"]
    path = tmp_path / "downloaded"
    path.write_bytes(b"".join(download))  # type: ignore[arg-type]
    assert path.stat().st_size == recorded["size"] > 1000
    assert import_file(path, Destination(world.beta), lambda done: None).name == "nightly etl"
    assert folder.path_of(0).parent.stat().st_mode & 0o777 == 0o700
    assert folder.path_of(job.pk).stat().st_mode & 0o777 == 0o600


def test_nobody_else_sees_a_job_or_its_file(run: Run, world: World) -> None:
    job = jobs.start_export(world.people["viewer"], run, "bundle")
    work(job.pk)
    for role in ("owner", "editor", "outsider", "nobody", "superuser"):
        client = world.client(role)
        for path in (f"/jobs/{job.pk}/", f"/jobs/{job.pk}/download/", f"/api/v1/jobs/{job.pk}"):
            assert client.get(path).status_code == 404, (role, path)
        assert client.post(f"/jobs/{job.pk}/cancel/").status_code == 404
    # nor its user, once that is no member any more
    world.alpha.memberships.filter(user=world.people["viewer"]).delete()
    assert world.client("viewer").get(f"/jobs/{job.pk}/download/").status_code == 404


def test_a_job_that_waits_is_cancelled_before_its_turn(run: Run, world: World) -> None:
    job = jobs.start_export(world.people["viewer"], run, "bundle")
    assert world.client("viewer").post(f"/jobs/{job.pk}/cancel/").headers["Location"] == f"/jobs/{job.pk}/"
    work(job.pk)
    job.refresh_from_db()
    assert (job.state, files()) == ("cancelled", [])
    assert "Cancelled" in world.client("viewer").get(f"/jobs/{job.pk}/").content.decode()


def test_a_job_that_runs_is_cancelled_and_leaves_no_file(
    run: Run, world: World, celery: None, endless: Endless
) -> None:
    job = jobs.start_export(world.people["viewer"], run, "endless")
    assert endless.started.wait(120)
    assert files() == [str(job.pk)]
    recorded = world.client("viewer").get(f"/api/v1/jobs/{job.pk}").json()
    assert (recorded["state"], recorded["progress"], recorded["download"]) == ("running", 0.5, None)
    world.client("viewer").post(f"/jobs/{job.pk}/cancel/")
    deadline = time.monotonic() + 120
    while files():
        assert time.monotonic() < deadline, "the file is left"
        time.sleep(0.05)
    assert eventually(job, "cancelled").state == "cancelled"


def test_an_import_that_is_cancelled_leaves_neither_rows_nor_its_file(
    bundle: Path, world: World, store: Store
) -> None:
    before = store.counts()
    with bundle.open("rb") as file:
        job = jobs.start_import(world.people["editor"], world.alpha, "run.zip", file)
    assert files() == [str(job.pk)]
    jobs.cancel(job)
    work(job.pk)
    assert (store.counts(), files()) == (before, [])


def test_a_job_whose_worker_died_is_failed_and_one_that_is_done_is_not(run: Run, world: World) -> None:
    died, lives = (jobs.start_export(world.people["viewer"], run, "bundle") for _ in range(2))
    Job.objects.update(state=Job.State.RUNNING)
    folder.create(died.pk).close()
    with connect() as connection, try_lock(connection, lives.pk):
        sweep_jobs()
    died.refresh_from_db()
    lives.refresh_from_db()
    assert (died.state, died.message) == ("failed", "The worker process died. Try again.")
    assert lives.state == "running"
    assert files() == []


def test_a_job_that_no_worker_takes_is_failed_after_a_while(run: Run, world: World) -> None:
    job = jobs.start_export(world.people["viewer"], run, "bundle")
    sweep_jobs()
    job.refresh_from_db()
    assert job.state == "waiting"
    Job.objects.update(created=now() - timedelta(hours=3))
    sweep_jobs()
    job.refresh_from_db()
    assert "No worker started this job" in job.message


def test_files_go_after_a_day(run: Run, world: World) -> None:
    job = jobs.start_export(world.people["viewer"], run, "bundle")
    work(job.pk)
    sweep_jobs()
    assert files() == [str(job.pk)]
    Job.objects.update(finished=now() - timedelta(days=1, minutes=1))
    sweep_jobs()
    assert (files(), Job.objects.count()) == ([], 0)


def test_one_person_has_only_so_many_jobs_at_once_and_so_many_files(run: Run, world: World) -> None:
    viewer = world.client("viewer")
    for _ in range(jobs.MOST_AT_ONCE):
        assert viewer.post(f"/runs/{run.pk}/export/", {"format": "bundle"}).status_code == 302
    refusal = viewer.post(f"/runs/{run.pk}/export/", {"format": "bundle"})
    assert refusal.status_code == 422
    assert "3 of your exports and imports are waiting or running" in refusal.content.decode()
    assert world.client("owner").post(f"/runs/{run.pk}/export/", {"format": "bundle"}).status_code == 302
    for job in Job.objects.all():
        work(job.pk)
    Job.objects.bulk_create(
        Job(
            kind="export",
            state="done",
            user=world.people["viewer"],
            project=world.alpha,
            run=run,
            file_name="x",
        )
        for _ in range(30)
    )
    jobs.start_export(world.people["viewer"], run, "bundle")
    assert Job.objects.filter(user=world.people["viewer"]).count() <= jobs.MOST_KEPT


def test_a_format_that_there_is_not_is_refused(run: Run, world: World) -> None:
    answer = world.client("viewer").post(f"/runs/{run.pk}/export/", {"format": "../etc"})
    assert (answer.status_code, Job.objects.count()) == (422, 0)


def test_a_format_that_fails_says_so_and_leaves_no_file(
    run: Run, world: World, endless: Endless, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endless, "write", lambda *arguments: 1 // 0)
    job = jobs.start_export(world.people["viewer"], run, "endless")
    work(job.pk)
    job.refresh_from_db()
    assert (job.state, files()) == ("failed", [])
    assert "ZeroDivision" not in job.message


def test_an_editor_imports_a_file_on_the_page(
    bundle: Path, world: World, celery: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyframes, "MANY_RECORDS", 1)
    answer = upload(world, "editor", bundle.read_bytes(), name="seen again")
    job = eventually(Job.objects.get(), "done", "failed")
    assert answer.headers["Location"] == f"/jobs/{job.pk}/"
    assert job.run is not None
    assert (job.state, job.run.name, job.run.cluster.project) == ("done", "seen again", world.alpha)
    assert files() == []
    page = world.client("editor").get(f"/jobs/{job.pk}/").content.decode()
    assert f"/runs/{job.run.pk}/" in page
    with django_connection.cursor() as cursor:  # it is ready to be opened
        cursor.execute("SELECT count(*) FROM keyframe WHERE cluster_id = %s", [job.run.cluster_id])
        assert cursor.fetchone()[0] > 0


def test_a_file_that_is_there_already_leads_to_its_run(bundle: Path, world: World) -> None:
    first = import_file(bundle, Destination(world.alpha), lambda done: None)
    upload(world, "editor", bundle.read_bytes())
    job = Job.objects.get()
    work(job.pk)
    page = world.client("editor").get(f"/jobs/{job.pk}/").content.decode()
    assert "it is there already" in page
    assert f"/runs/{first.pk}/" in page


def test_a_hostile_file_is_refused_on_the_page_with_the_reason(world: World, store: Store) -> None:
    before = store.counts()
    upload(world, "editor", b"\x80\x04<script>alert(1)</script>")
    job = Job.objects.get()
    work(job.pk)
    page = world.client("editor").get(f"/jobs/{job.pk}/").content.decode()
    assert "It is a pickle, which can run any program" in page
    assert (store.counts(), files()) == (before, [])


def test_who_may_not_set_a_projects_targets_imports_nothing_into_it(world: World) -> None:
    for role in ("viewer", "nobody"):
        assert world.client(role).get("/import/").status_code == 403
        assert upload(world, role, b"x").status_code == 403
    refusal = upload(world, "editor", b"x", project=world.beta)
    assert refusal.status_code == 422
    assert (Job.objects.count(), files()) == (0, [])


def test_a_file_that_cannot_be_kept_leaves_no_job(world: World, settings: Any) -> None:
    folder.path_of(0).parent.parent.mkdir(parents=True, exist_ok=True)
    folder.path_of(0).parent.write_text("a file where the folder should be")
    answer = upload(world, "editor", b"x")
    assert answer.status_code == 422
    assert "can&#x27;t be saved" in answer.content.decode()
    assert Job.objects.count() == 0


def test_the_command_imports_and_prints_where_the_run_is(
    bundle: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    out = io.StringIO()
    call_command("import", str(bundle), "--project", "beta", stdout=out)
    run = Run.objects.get(cluster__project=world.beta)
    assert out.getvalue() == f"/runs/{run.pk}/\n"
    again = io.StringIO()
    call_command("import", str(bundle), "--project", "beta", stdout=again, stderr=io.StringIO())
    assert again.getvalue() == out.getvalue()
    with pytest.raises(CommandError, match="name one with --project; there are: alpha, beta"):
        call_command("import", str(bundle))
    with pytest.raises(CommandError, match="there is no project 'gamma'"):
        call_command("import", str(bundle), "--project", "gamma")
    with pytest.raises(CommandError, match="can't be read: No such file"):
        call_command("import", "/nowhere", "--project", "beta")
    bundle.write_bytes(b"hello")
    with pytest.raises(CommandError, match="none of the files that are known"):
        call_command("import", str(bundle), "--project", "beta")
