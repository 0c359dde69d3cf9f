"""People: their accounts, and what is theirs alone. What they made in projects stays there without them."""

from __future__ import annotations

from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse

from observatory.clusters.accounts.departures import sessions_of
from observatory.clusters.accounts.models import Membership
from observatory.clusters.deletion.amounts import Amount
from observatory.clusters.deletion.kind import (
    Belongings,
    Deletable,
    ReportProgress,
    register,
    register_belongings,
)
from observatory.clusters.deletion.owned import Rows
from observatory.clusters.models import Project
from observatory.store.connection import connect, read_connection
from observatory.store.maintenance.unknown_rows import count_unknown_rows, delete_unknown_rows

OWNER = Membership.Role.OWNER


class DeletablePerson(Deletable):
    name, model = "person", User
    refusal = "Only superusers can delete people."

    def seen(self, user: User) -> QuerySet[User]:
        return User.objects.all() if user.is_active and user.is_superuser else User.objects.none()

    def may_delete(self, user: User, subject: User) -> bool:
        return user.is_active and user.is_superuser

    def referred(self, reference: str) -> QuerySet[User]:
        return User.objects.filter(username=reference)

    def reference_to(self, subject: User) -> str:
        return subject.get_username()

    def page_of(self, subject: User) -> str:
        return reverse("admin:auth_user_change", args=[subject.pk])

    def obstacle(self, subject: User) -> str:
        others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=subject.pk)
        if subject.is_superuser and not others.exists():
            return "It is the only superuser. Make another person a superuser first."
        return ""

    def notes(self, subject: User) -> list[str]:
        notes = [
            "Runs, notes, links, rules, channels and ingest tokens that the person made stay with their "
            "projects, by a deleted user. Agents go on reporting with these tokens."
        ]
        owners = Membership.objects.filter(project=OuterRef("pk"), role=OWNER).exclude(user=subject)
        alone = Project.objects.filter(~Exists(owners), memberships__user=subject, memberships__role=OWNER)
        if names := ", ".join(alone.values_list("name", flat=True)):
            notes.append(f"Without another owner, only superusers manage {names} afterwards.")
        return notes

    def stop(self, subject: User) -> None:
        User.objects.filter(pk=subject.pk).update(is_active=False)  # signs the person out everywhere

    def also(self, subject: User) -> Rows:
        name = subject.get_username()
        about = {"content_type": ContentType.objects.get_for_model(User), "object_id": str(subject.pk)}
        return {
            AccessAttempt: Q(username=name),
            AccessFailureLog: Q(username=name),
            AccessLog: Q(username=name),
            LogEntry: Q(**about),
            Session: Q(pk__in=sessions_of(subject)),
        }


class SingleSignOn(Belongings):
    """What django-allauth has of people, where it isn't installed because single sign-on is switched off."""

    model = User

    def amounts(self, rows: QuerySet[Any], seconds: float) -> list[Amount]:
        with read_connection() as connection:
            numbers = list(rows.values_list("pk", flat=True))
            return [_records(count_unknown_rows(connection, User._meta.db_table, numbers, _known()))]

    def remove(self, number: int, report_progress: ReportProgress) -> list[Amount]:
        with connect() as connection:
            return [_records(delete_unknown_rows(connection, User._meta.db_table, [number], _known()))]


def _records(count: int) -> Amount:
    return Amount("rows of single sign-on", count, singular="row of single sign-on")


def _known() -> set[str]:
    return {model._meta.db_table for model in apps.get_models(include_auto_created=True)}


register(DeletablePerson())
register_belongings(SingleSignOn())
