"""Deleting a cluster, also with its project, deletes what the store has of it."""

from __future__ import annotations

import pytest
from django.db import transaction

from observatory.store.queries.extents import extents
from tests.support.projects import World, store_extent

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stored(transactional_db: None, world: World) -> World:
    for cluster in (world.live, world.ended, world.elsewhere):
        store_extent(cluster, tasks=7)
    return world


def test_the_admin_leads_to_the_page_that_deletes_an_ended_cluster(stored: World) -> None:
    client = stored.client("superuser")
    answer = client.post(f"/admin/clusters/cluster/{stored.ended.pk}/delete/", {"post": "yes"})
    assert answer.headers["Location"] == f"/delete/cluster/{stored.ended.pk}/"
    assert set(extents([stored.live.pk, stored.ended.pk])) == {stored.live.pk, stored.ended.pk}


def test_a_live_cluster_cannot_be_deleted_and_none_be_changed_or_added(stored: World) -> None:
    client = stored.client("superuser")
    assert (
        client.post(f"/admin/clusters/cluster/{stored.live.pk}/delete/", {"post": "yes"}).status_code == 403
    )
    assert client.post(f"/admin/clusters/cluster/{stored.ended.pk}/change/", {"name": "x"}).status_code == 403
    assert client.get("/admin/clusters/cluster/add/").status_code == 403


def test_deleting_a_project_deletes_what_is_stored_of_its_clusters(stored: World) -> None:
    stored.alpha.delete()
    assert set(extents([stored.live.pk, stored.ended.pk, stored.elsewhere.pk])) == {stored.elsewhere.pk}


def test_a_deletion_that_is_rolled_back_deletes_no_records(stored: World) -> None:
    number = stored.elsewhere.pk
    with transaction.atomic():
        stored.elsewhere.delete()
        transaction.set_rollback(True)
    assert set(extents([number])) == {number}
