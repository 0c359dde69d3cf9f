"""Removes what is stored of a cluster when the cluster is deleted, also as a part of its project."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver

from observatory.clusters.models import Cluster


@receiver(post_delete, sender=Cluster)
def remove_stored_records(instance: Cluster, **_: Any) -> None:
    # after the commit: a deletion that is rolled back must leave the records
    transaction.on_commit(partial(_remove, instance.pk))


def _remove(cluster: int) -> None:
    from observatory.store.maintenance.retention import delete_cluster  # half of what a command imports

    delete_cluster(cluster)
