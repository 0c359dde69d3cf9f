"""Deletions in the background: they go on after an interruption, and fail without a loss."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from celery.contrib.testing.worker import start_worker
from django.utils.timezone import now

from observatory.clusters.deletion.amounts import from_json, summed
from observatory.clusters.deletion.kind import kinds
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.deletion.preview import preview
from observatory.clusters.models import Cluster, Project
from observatory.clusters.tasks import delete, resume_deletions
from observatory.config.celery import app
from tests.clusters.deletion.conftest import Filled

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_interrupted_deletion_goes_on_and_counts_everything(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    from observatory.clusters.deletion import deletions
    from observatory.clusters.deletion.kinds.cluster import StoredRecords

    monkeypatch.setattr(deletions, "SECONDS_BETWEEN", 0)
    world = filled.world
    shown = preview(kinds()["project"], world.alpha)
    deletion = deletions.note(kinds()["project"], world.alpha, world.people["owner"], Deletion.Door.PAGE)
    remove = StoredRecords.remove

    def killed(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(StoredRecords, "remove", killed)
    with pytest.raises(KeyboardInterrupt):
        delete(deletion.pk)
    deletion.refresh_from_db()
    assert (deletion.state, 0 < deletion.progress < 1) == ("running", True)
    assert Project.objects.filter(pk=world.alpha.pk).exists()
    monkeypatch.setattr(StoredRecords, "remove", remove)
    delete(deletion.pk)
    deletion.refresh_from_db()
    assert deletion.state == "done"
    assert summed(from_json(deletion.amounts)) == shown.goes


def test_a_deletion_that_failed_shows_what_is_left_again(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    from observatory.clusters.deletion.kinds.cluster import StoredRecords

    def fails(*arguments: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(StoredRecords, "remove", fails)
    client = filled.world.client("owner")
    client.post("/delete/project/alpha/", {"name": "Alpha"})
    delete(Deletion.objects.get().pk)
    deletion = Deletion.objects.get()
    assert deletion.state == "failed"
    assert "Delete it again" in client.get(f"/deletions/{deletion.pk}/").content.decode()
    assert client.get("/projects/alpha/").status_code == 200


def test_two_requests_are_one_deletion(filled: Filled) -> None:
    client = filled.world.client("owner")
    address, sent = f"/api/v1/deletions/cluster/{filled.world.ended.pk}", {"name": filled.world.ended.name}
    first = client.post(address, sent, content_type="application/json")
    assert first.status_code == 202
    assert client.post(address, sent, content_type="application/json").status_code == 404
    assert Deletion.objects.count() == 1


def test_celery_deletes_what_a_page_asked_for(filled: Filled) -> None:
    app.control.purge()
    with start_worker(app, pool="threads", concurrency=1, perform_ping_check=False):
        filled.world.client("owner").post("/delete/project/alpha/", {"name": "Alpha"})
        deadline = time.monotonic() + 180
        while not (deletion := Deletion.objects.get()).is_over:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert (deletion.state, Project.objects.filter(slug="alpha").exists()) == ("done", False)


def test_what_no_process_works_on_is_taken_up(filled: Filled) -> None:
    cluster = filled.world.ended
    for age, state in ((0, "waiting"), (60, "done")):
        Deletion.objects.update_or_create(
            kind="cluster", subject=cluster.pk, defaults={"name": cluster.name, "door": "page"}
        )
        Deletion.objects.update(created=now() - timedelta(seconds=age))
        resume_deletions()
        assert Deletion.objects.get().state == state
    assert not Cluster.objects.filter(pk=cluster.pk).exists()
