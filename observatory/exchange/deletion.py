"""The files of exports and imports go with their jobs, however those are deleted."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.signals import post_delete
from django.dispatch import receiver

from observatory.clusters.deletion.amounts import Amount
from observatory.clusters.deletion.kind import Belongings, ReportProgress, register_belongings
from observatory.exchange.jobs import folder
from observatory.exchange.models import Job


class JobFiles(Belongings):
    """Files of jobs, as far as this machine has them."""

    model = Job

    def amounts(self, rows: QuerySet[Any], seconds: float) -> list[Amount]:
        return [_amount(number) for number in rows.values_list("pk", flat=True).iterator()]

    def remove(self, number: int, report_progress: ReportProgress) -> list[Amount]:
        amount = _amount(number)
        folder.remove(number)
        return [amount]


@receiver(post_delete, sender=Job)
def remove_file(instance: Job, **_: Any) -> None:
    # after the commit, since the deletion can be rolled back
    transaction.on_commit(lambda: folder.remove(instance.pk))


def _amount(number: int) -> Amount:
    path = folder.path_of(number)
    size = path.stat().st_size if path.exists() else None
    return Amount("files", 0 if size is None else 1, size, singular="file")


register_belongings(JobFiles())
