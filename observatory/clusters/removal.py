"""Deletes the records of a cluster when the cluster, or its project, is deleted."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver

from observatory.clusters.models import Cluster


@receiver(post_delete, sender=Cluster)
def remove_stored_records(instance: Cluster, **_: Any) -> None:
    # after the commit, since the deletion can be rolled back
    transaction.on_commit(partial(_remove, instance.pk))


def _remove(cluster: int) -> None:
    from observatory.store.maintenance.retention import delete_cluster  # half of what a command imports

    delete_cluster(cluster)
