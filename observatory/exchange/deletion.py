"""What goes with what is deleted: files with their jobs, receivers with the only project that they are of."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.signals import post_delete, pre_delete
from django.dispatch import receiver

from observatory.alerts.scope_changes import limited_to
from observatory.clusters.accounts.models import Membership
from observatory.clusters.deletion.amounts import Amount
from observatory.clusters.deletion.kind import (
    Belongings,
    ReportProgress,
    register_belongings,
    register_companions,
)
from observatory.clusters.deletion.owned import Rows
from observatory.clusters.models import Project
from observatory.exchange.jobs import folder
from observatory.exchange.models import Job, Receiver


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


@receiver(pre_delete, sender=Project)
def delete_receivers_of_the_project(instance: Project, **_: Any) -> None:
    """Without the project, they would get the runs of all."""
    limited_to(Receiver, "projects", instance).delete()


def of_project(project: Project) -> Rows:
    return {Receiver: Q(pk__in=list(limited_to(Receiver, "projects", project).values_list("pk", flat=True)))}


def of_person(person: User) -> Rows:
    """The person's receivers that no other person's project has."""
    others = Membership.objects.filter(project=OuterRef("projects")).exclude(user=person)
    own = Receiver.objects.filter(created_by=person, projects__memberships__user=person)
    shared = own.filter(Exists(others)).values("pk")
    return {Receiver: Q(pk__in=list(own.exclude(pk__in=shared).values_list("pk", flat=True).distinct()))}


def _amount(number: int) -> Amount:
    path = folder.path_of(number)
    size = path.stat().st_size if path.exists() else None
    return Amount("files", 0 if size is None else 1, size, singular="file")


register_belongings(JobFiles())
register_companions("project", of_project)
register_companions("person", of_person)
