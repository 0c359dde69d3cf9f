"""Rules and channels that are deleted, and those that go with a project or person."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse

from observatory.alerts.models import Channel, Rule
from observatory.alerts.scope_changes import OF_PROJECTS, limited_to
from observatory.alerts.web.access import managed
from observatory.clusters.accounts.models import Membership
from observatory.clusters.deletion.kind import Deletable, register, register_companions
from observatory.clusters.deletion.owned import Rows
from observatory.clusters.models import Project


def is_number(reference: str) -> bool:
    return reference.isdecimal() and len(reference) < 10


class OfProjects(Deletable):
    """What belongs to projects, or to all. Who manages all of its projects deletes it."""

    def seen(self, user: User) -> QuerySet[Any]:
        return managed(self.model._default_manager.all(), user)

    def may_delete(self, user: User, subject: Any) -> bool:
        return self.seen(user).filter(pk=subject.pk).exists()

    def referred(self, reference: str) -> QuerySet[Any]:
        """By number; by name where none has the number."""
        rows = self.model._default_manager.all()
        numbered = rows.filter(pk=int(reference) if reference.isdecimal() and len(reference) < 10 else 0)
        return numbered if numbered.exists() else rows.filter(name=reference)

    def page_of(self, subject: Any) -> str:
        return reverse(f"admin:alerts_{self.name}_change", args=[subject.pk])


class DeletableRule(OfProjects):
    name, model = "rule", Rule
    refusal = "Only who manages all projects of a rule can delete it."

    def notes(self, subject: Rule) -> list[str]:
        channels = limited_to(Channel, "rules", subject).values_list("name", flat=True)
        notes = [f"The channel {name} sends its alerts alone: it is switched off." for name in channels]
        if subject.key:
            notes.append("It is a ready-made rule: it isn't made again. To stop it for a time, disable it.")
        return notes


class DeletableChannel(OfProjects):
    name, model = "channel", Channel
    refusal = "Only who manages all projects of a channel can delete it."


def of_project(project: Project) -> Rows:
    """What applies to this project alone: without it, it would apply to all."""
    return {
        model: Q(pk__in=list(limited_to(model, "projects", project).values_list("pk", flat=True)))
        for model in OF_PROJECTS
    }


def of_person(person: User) -> Rows:
    """The person's channels that no other person's project has."""
    others = Membership.objects.filter(project=OuterRef("projects")).exclude(user=person)
    own = Channel.objects.filter(created_by=person, projects__memberships__user=person)
    shared = own.filter(Exists(others)).values("pk")
    return {Channel: Q(pk__in=list(own.exclude(pk__in=shared).values_list("pk", flat=True).distinct()))}


register(DeletableRule())
register(DeletableChannel())
register_companions("project", of_project)
register_companions("person", of_person)
