"""Keeps what is limited to one project, target or rule from applying to all when that is deleted.

In the models an empty list of projects, targets or rules means all.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.db.models.signals import pre_delete
from django.dispatch import receiver

from observatory.alerts.models import Channel, MaintenanceWindow, Rule, Silence
from observatory.clusters.models import Project, Target

OF_PROJECTS: tuple[type[Any], ...] = (Rule, Channel, Silence, MaintenanceWindow)


def limited_to(model: type[Any], field: str, item: Model) -> QuerySet[Any]:
    """The rows of `model` whose list `field` has `item` and nothing else."""
    through = getattr(model, field).through
    own, other = model._meta.label_lower.split(".")[1], item._meta.label_lower.split(".")[1]
    listed = through.objects.filter(**{own: OuterRef("pk")})
    alone = Q(Exists(listed.filter(**{other: item.pk}))) & ~Q(Exists(listed.exclude(**{other: item.pk})))
    return model.objects.filter(alone)  # type: ignore[no-any-return]


@receiver(pre_delete, sender=Project)
def delete_what_is_of_the_project(instance: Project, **_: Any) -> None:
    for model in OF_PROJECTS:
        limited_to(model, "projects", instance).delete()


@receiver(pre_delete, sender=Target)
def disable_what_is_on_the_target(instance: Target, **_: Any) -> None:
    """Rules can be given another target; a maintenance window of the target is over."""
    reason = f"It applied to the target {instance.name} alone, which was removed. Choose where it applies."
    limited_to(Rule, "targets", instance).update(enabled=False, error=reason[:500])
    limited_to(MaintenanceWindow, "targets", instance).delete()


@receiver(pre_delete, sender=Rule)
def disable_channels_of_the_rule(instance: Rule, **_: Any) -> None:
    limited_to(Channel, "rules", instance).update(enabled=False)
