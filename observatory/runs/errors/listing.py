"""Errors of all runs that a person may see, by exception and place in the code."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet, Sum
from django.utils.timezone import now

from observatory.clusters.access import Person, visible_projects
from observatory.runs.errors.headline import headline
from observatory.runs.models import Run, RunError


@dataclass(frozen=True, slots=True)
class ErrorKindFilter:
    """Empty values don't filter."""

    text: str = ""
    """words in the exception, its message, the place, the prefix, or the names of run and cluster"""
    project: str = ""
    """slug"""
    since: datetime | None = None
    """leaves out runs whose last error of a kind was before"""


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """One exception at one place, in all matching runs."""

    exception_type: str
    place: str
    count: int
    retried: int
    killed: int
    first: datetime
    """also in runs before `since`"""
    last: datetime
    runs: int
    clusters: int
    newest: RunError
    """in the run where it happened last"""

    @property
    def headline(self) -> str:
        newest = self.newest
        names = ("exception_type", "prefix", "function", "file", "line", "killed", "deaths")
        age = (now() - self.first).total_seconds()
        return headline({name: getattr(newest, name) for name in names}, self.count, self.runs, age)


def find_errors(user: Person, wanted: ErrorKindFilter) -> QuerySet[RunError]:
    """The errors of each run that match."""
    projects = visible_projects(user)
    if wanted.project:
        projects = projects.filter(slug=wanted.project)
    found = RunError.objects.filter(run__cluster__project__in=projects)
    if wanted.since is not None:
        found = found.filter(last__gte=wanted.since)
    for word in wanted.text.split()[:20]:
        found = found.filter(
            Q(exception_type__icontains=word)
            | Q(message__icontains=word)
            | Q(place__icontains=word)
            | Q(prefix__icontains=word)
            | Q(run__name__icontains=word)
            | Q(run__cluster__name__icontains=word)
        )
    return found


def error_kinds(user: Person, wanted: ErrorKindFilter, run: Run | None = None) -> QuerySet[RunError, Any]:
    """A row for each kind with its sums, the latest first; with `run` those kinds alone that it has."""
    found = find_errors(user, wanted)
    if run is not None:
        same = {name: OuterRef(name) for name in ("exception_type", "place")}
        found = found.filter(Exists(RunError.objects.filter(run=run, **same)))
    kinds = found.order_by().values("exception_type", "place")
    return kinds.annotate(
        errors=Sum("count"),
        retries=Sum("retried"),
        kills=Sum("killed"),
        end=Max("last"),
        runs=Count("run", distinct=True),
        clusters=Count("run__cluster", distinct=True),
    ).order_by("-end", "exception_type", "place")


def with_newest(user: Person, wanted: ErrorKindFilter, rows: list[dict[str, Any]]) -> list[ErrorKind]:
    """The kinds of a page, each with the run where it happened last, in two queries for all."""
    same = last = Q(pk__in=[])
    for row in rows:
        kind = Q(exception_type=row["exception_type"], place=row["place"])
        same, last = same | kind, last | kind & Q(last=row["end"])
    found = find_errors(user, wanted).filter(last).select_related("run__cluster__project", "run__findings")
    newest = {(error.exception_type, error.place): error for error in found}
    ever = find_errors(user, ErrorKindFilter(project=wanted.project)).filter(same).order_by()
    firsts = {
        (row["exception_type"], row["place"]): row["begin"]
        for row in ever.values("exception_type", "place").annotate(begin=Min("first"))
    }
    return [
        ErrorKind(
            row["exception_type"],
            row["place"],
            row["errors"],
            row["retries"],
            row["kills"],
            firsts[row["exception_type"], row["place"]],
            row["end"],
            row["runs"],
            row["clusters"],
            newest[row["exception_type"], row["place"]],
        )
        for row in rows
        if (row["exception_type"], row["place"]) in newest
    ]
