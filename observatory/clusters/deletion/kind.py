"""What can be deleted, and what rows have outside of the models' tables. Rooms register theirs.

An application's module `deletion` is imported when the first kind is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.utils.module_loading import autodiscover_modules

from observatory.clusters.deletion.amounts import Amount
from observatory.clusters.deletion.owned import Rows
from observatory.clusters.provisioning.marks import mark_of

ReportProgress = Callable[[float], None]
"""is called with the share that is done, from 0 to 1"""


class Deletable:
    """A kind of what people delete. Methods get a row of `model`."""

    name: ClassVar[str]
    """as in addresses and on the command line"""
    model: ClassVar[type[Model]]
    last: ClassVar[tuple[type[Model], ...]] = ()
    """models whose rows go last, because people delete it again by them where a deletion failed"""
    refusal: ClassVar[str]
    """who may delete it, for those who see it and may not"""

    def seen(self, user: User) -> QuerySet[Any]:
        """The rows that `user` may know of."""
        raise NotImplementedError

    def may_delete(self, user: User, subject: Any) -> bool:
        raise NotImplementedError

    def referred(self, reference: str) -> QuerySet[Any]:
        """The rows that a text of an address or of the command line means."""
        raise NotImplementedError

    def reference_to(self, subject: Any) -> str:
        return str(subject.pk)

    def page_of(self, subject: Any) -> str:
        """The path of the page that shows it."""
        raise NotImplementedError

    def obstacle(self, subject: Any) -> str:
        """Why it cannot be deleted now; "" if it can."""
        mark = mark_of(subject)
        return f"It is provisioned: remove it from {mark.place}, and apply that." if mark else ""

    def notes(self, subject: Any) -> list[str]:
        """Sentences on what a deletion changes beside what goes."""
        return []

    def stop(self, subject: Any) -> None:
        """Stops what would add to it while it is deleted."""

    def also(self, subject: Any) -> Rows:
        """Rows that go with it without a relation that cascades; theirs go, too."""
        return {}


class Belongings:
    """What rows of a model have elsewhere: in the store, in files."""

    model: ClassVar[type[Model]]

    def amounts(self, rows: QuerySet[Any], seconds: float) -> list[Amount]:
        """What the rows have. Amounts that would take longer than `seconds` to count are at least so many."""
        raise NotImplementedError

    def remove(self, number: int, report_progress: ReportProgress) -> list[Amount]:
        """Removes what the row has. Nothing is left to remove when it is called again."""
        raise NotImplementedError


Companions = Callable[[Any], Rows]

_kinds: dict[str, Deletable] = {}
_belongings: list[Belongings] = []
_companions: list[tuple[str, Companions]] = []


def register(kind: Deletable) -> None:
    _kinds[kind.name] = kind


def register_belongings(belongings: Belongings) -> None:
    _belongings.append(belongings)


def register_companions(kind: str, companions: Companions) -> None:
    """`companions` returns rows of another room that go with one of `kind`, as Deletable.also."""
    _companions.append((kind, companions))


def kinds() -> dict[str, Deletable]:
    """By name."""
    _discover()
    return _kinds


def belongings_of(model: type[Model]) -> list[Belongings]:
    _discover()
    return [each for each in _belongings if each.model is model]


def companions_of(kind: str, subject: Model) -> Rows:
    _discover()
    found: Rows = {}
    for name, companions in _companions:
        if name == kind:
            found |= companions(subject)
    return found


@cache
def _discover() -> None:
    for name in ("project", "cluster", "person"):
        import_module(f"observatory.clusters.deletion.kinds.{name}")
    autodiscover_modules("deletion")
