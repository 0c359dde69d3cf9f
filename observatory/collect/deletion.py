"""Batches in quarantine go with their cluster."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from observatory.clusters.deletion.amounts import Amount
from observatory.clusters.deletion.kind import Belongings, ReportProgress, register_belongings
from observatory.clusters.models import Cluster
from observatory.collect.quarantine.folder import files_of, remove


class QuarantinedBatches(Belongings):
    """As far as this machine has them; the command `quarantine` removes those of other machines."""

    model = Cluster

    def amounts(self, rows: QuerySet[Any], seconds: float) -> list[Amount]:
        found = files_of(set(rows.values_list("pk", flat=True)))
        size = sum(path.stat().st_size for path in found)
        return [_amount(len(found), size)]

    def remove(self, number: int, report_progress: ReportProgress) -> list[Amount]:
        found = files_of({number})
        return [_amount(len(found), sum(map(remove, found)))]


def _amount(count: int, size: int) -> Amount:
    return Amount("batches in quarantine", count, size or None, singular="batch in quarantine")


register_belongings(QuarantinedBatches())
