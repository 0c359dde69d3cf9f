"""Starts deletions and does them, in pieces: one that was interrupted goes on where it was."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Model, Q, QuerySet
from django.http import Http404
from django.utils.timezone import now

from observatory.clusters.audit.models import AuditEntry
from observatory.clusters.background_work import OPEN
from observatory.clusters.deletion import kind as registry
from observatory.clusters.deletion.amounts import Amount, from_json, of_rows, summed, to_json
from observatory.clusters.deletion.kind import Deletable, ReportProgress
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.deletion.preview import rows_with
from observatory.store.audit.actor import Actor, acting

log = logging.getLogger(__name__)

CHUNK = 500
"""rows of a model that one transaction deletes, with what little still belongs to them"""
SECONDS_BETWEEN = 0.5
"""minimum between two updates of a deletion's row"""
BELONGINGS = 1000
"""rows that removing the belongings of one row counts for, in the progress"""


class Refused(ValueError):
    """It cannot be deleted now. The message says why, and what to do."""


def referred_to_delete(kind: Deletable, user: User, reference: str) -> Any:
    """The row that a person wants to delete. Raises Http404 as clusters/access.py does, and
    PermissionDenied for who sees it and may not delete it."""
    found = list(kind.referred(reference).filter(pk__in=kind.seen(user))[:2])
    if len(found) != 1:  # a name that several have means none of them
        raise Http404(f"This {kind.name} doesn't exist, or you don't have access to it.")
    [subject] = found
    if not kind.may_delete(user, subject):
        raise PermissionDenied(kind.refusal)
    return subject


def start(kind: Deletable, subject: Model, user: User | None, door: Deletion.Door) -> Deletion:
    """Starts a deletion, which Celery does; returns the one that is open, if there is one. Raises Refused."""
    from observatory.clusters.tasks import delete

    deletion = note(kind, subject, user, door)
    transaction.on_commit(lambda: delete.delay(deletion.pk))
    return deletion


def note(kind: Deletable, subject: Model, user: User | None, door: Deletion.Door) -> Deletion:
    """Notes that somebody wants to delete it; from now on nobody sees it. Raises Refused."""
    if obstacle := kind.obstacle(subject):
        raise Refused(obstacle)
    same = {"kind": kind.name, "subject": subject.pk}
    try:
        with transaction.atomic():
            deletion = Deletion.objects.create(**same, name=str(subject)[:200], asked_by=user, door=door)
    except IntegrityError:
        return Deletion.objects.get(**same, state__in=OPEN)
    log.info("%s %d is deleted: %s asked on the %s", kind.name, subject.pk, user or "somebody", door.label)
    return deletion


def visible_deletions(user: User) -> QuerySet[Deletion]:
    """Those that `user` asked for; for superusers, all."""
    is_all = user.is_active and user.is_superuser
    return Deletion.objects.all() if is_all else Deletion.objects.filter(asked_by=user)


def perform(deletion: Deletion, report_progress: ReportProgress = lambda share: None) -> None:
    """Deletes what the deletion is of, in pieces, and notes what it was. `report_progress` gets the share.

    Whoever calls it holds the deletion's lock. The audit log notes the deletion, not each row that goes.
    """
    with acting(lambda: _asker(deletion)):
        Deletion.objects.filter(pk=deletion.pk).update(state=Deletion.State.RUNNING)
        kind = registry.kinds()[deletion.kind]
        record = _Record(deletion, report_progress)
        subject = kind.model._base_manager.filter(pk=deletion.subject).first()
        if subject is not None:
            kind.stop(subject)
            _delete_all(kind, subject, record)
        record.finish()


def _asker(deletion: Deletion) -> Actor:
    """Who asked for it."""
    user = deletion.asked_by
    kind = AuditEntry.ActorKind.COMMAND if user is None else AuditEntry.ActorKind.PERSON
    name, number = ("", None) if user is None else (user.get_username(), user.pk)
    return Actor(kind.value, name, number, door=str(deletion.get_door_display()), is_noted=False)


def _delete_all(kind: Deletable, subject: Model, record: _Record) -> None:
    rows = rows_with(kind, subject)
    record.total = sum(
        model._base_manager.filter(condition).count() * _weight(model) for model, condition in rows
    )
    for model, condition in rows:
        belongings = registry.belongings_of(model)
        for numbers in _chunks(model, condition, 1 if belongings else CHUNK):
            for each in belongings:
                for number in numbers:
                    record.add(each.remove(number, record.part(BELONGINGS)), BELONGINGS)
            record.add(_delete(model, numbers), len(numbers))


def _weight(model: type[Model]) -> int:
    return 1 + BELONGINGS * len(registry.belongings_of(model))


def _chunks(model: type[Model], condition: Q, size: int) -> Iterator[list[Any]]:
    """The numbers of the rows, in order; each chunk is gone before the next one is read."""
    rows, last = model._base_manager.filter(condition).order_by("pk"), None
    while True:
        after = rows if last is None else rows.filter(pk__gt=last)
        numbers = list(after.values_list("pk", flat=True)[:size])
        if not numbers:
            return
        yield numbers
        last = numbers[-1]


def _delete(model: type[Model], numbers: list[Any]) -> list[Amount]:
    """Without the rows of tables between two models, of which people do not know."""
    _, by_label = model._base_manager.filter(pk__in=numbers).delete()
    deleted = ((apps.get_model(label), count) for label, count in by_label.items())
    return [of_rows(each, count) for each, count in deleted if not each._meta.auto_created]


class _Record:
    """Notes progress and amounts in the deletion's row, at most twice a second."""

    def __init__(self, deletion: Deletion, report_progress: ReportProgress) -> None:
        self.total = 0
        self._deletion, self._report_progress = deletion, report_progress
        self._amounts = from_json(deletion.amounts)
        self._done = 0.0
        self._noted = 0.0

    def add(self, amounts: list[Amount], units: int) -> None:
        self._amounts = summed([*self._amounts, *amounts])
        self._done += units
        self._note(self._done)

    def part(self, units: int) -> Callable[[float], None]:
        return lambda share: self._note(self._done + share * units)

    def finish(self) -> None:
        is_person = self._deletion.kind == "person"
        Deletion.objects.filter(pk=self._deletion.pk).update(
            state=Deletion.State.DONE,
            progress=1.0,
            finished=now(),
            amounts=to_json(self._amounts),
            name="" if is_person else self._deletion.name,
        )
        self._report_progress(1.0)

    def _note(self, done: float) -> None:
        if time.monotonic() - self._noted < SECONDS_BETWEEN:
            return
        share = min(done / self.total, 1.0) if self.total else 0.0
        Deletion.objects.filter(pk=self._deletion.pk).update(progress=share, amounts=to_json(self._amounts))
        self._report_progress(share)
        self._noted = time.monotonic()
