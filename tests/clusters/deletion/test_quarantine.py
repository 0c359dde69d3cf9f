"""Batches in quarantine of a deleted cluster, on a machine other than the one that deleted it."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command

from observatory.collect.quarantine import folder
from observatory.store.ingest.batches.batch import Batch
from observatory.wire.records import Event
from tests.clusters.deletion.conftest import Filled

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_command_removes_batches_of_deleted_clusters_and_stores_the_others(filled: Filled) -> None:
    for path in folder.files():
        folder.remove(path)
    deleted, kept = filled.world.ended, filled.world.elsewhere
    for cluster in (deleted, kept):
        folder.put(Batch.of(cluster.pk, events=[Event(1_790_000_030.0, "restarted")]), ValueError("no"))
    of_deleted, of_kept = ({*folder.files_of({cluster.pk})} for cluster in (deleted, kept))
    assert (len(of_deleted), len(of_kept)) == (1, 1)
    damaged = folder.folder() / "20260101T000000Z-00000000.batch"
    damaged.write_bytes(b"damaged")
    assert folder.files_of({0, 1, deleted.pk}) == [*of_deleted]
    damaged.unlink()
    deleted.delete()
    output = io.StringIO()
    call_command("quarantine", "--retry", stdout=output)
    assert "removed, its cluster was deleted" in output.getvalue()
    assert "1 records stored" in output.getvalue()
    assert not folder.files()
