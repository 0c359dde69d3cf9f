"""Usage of a range of days by project, person or tag, added up from `Usage`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import F, Max, QuerySet, Sum, TextField, Value
from django.db.models.expressions import Combinable
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce

from observatory.clusters.access import Person, visible_projects
from observatory.clusters.models import Project
from observatory.runs.batch_jobs.kept import USAGE
from observatory.runs.models import Usage
from observatory.runs.usage.prices import cost_of

BY = ("project", "person", "tag")
MOST_DAYS = 366
MOST_GROUPS = 20
"""shown by themselves, those with the most thread-hours; the rest are OTHERS"""
AMOUNTS = (
    *("cluster_seconds", "worker_seconds", "thread_seconds", "memory_seconds", "busy_seconds"),
    *("tasks", "errors"),
    *USAGE,
)
OTHERS, OUTSIDE = "\0others", "\0outside"
"""Keys of groups that are no values: stored texts have no NUL. OUTSIDE: used by clusters outside of runs."""
NAMES = {OTHERS: "all others", OUTSIDE: "outside of runs"}
WITHOUT = {"person": "unknown", "tag": "without the tag"}


@dataclass(frozen=True, slots=True)
class UsageFilter:
    first: date
    last: date
    """included"""
    by: str = "project"
    """one of BY"""
    tag: str = ""
    """name of the tag, for `by` tag"""
    project: str = ""
    """slug; empty: all that one may see"""


@dataclass(slots=True)
class Amounts:
    """What was used: sums, and costs by currency."""

    sums: dict[str, float] = field(default_factory=lambda: dict.fromkeys(AMOUNTS, 0.0))
    costs: dict[str, float] = field(default_factory=dict)

    def add(self, project: Project, sums: Mapping[str, float], sign: int = 1) -> None:
        for name in AMOUNTS:
            self.sums[name] += sign * sums[name]
        if project.has_price:
            cost = sign * cost_of(project, sums)
            self.costs[project.currency] = self.costs.get(project.currency, 0.0) + cost

    def merge(self, other: Amounts) -> None:
        for name in AMOUNTS:
            self.sums[name] += other.sums[name]
        for currency, cost in other.costs.items():
            self.costs[currency] = self.costs.get(currency, 0.0) + cost

    def without_negatives(self) -> Amounts:
        """Runs that overlap use more than their cluster."""
        costs = {currency: max(0.0, cost) for currency, cost in self.costs.items()}
        return Amounts({name: max(0.0, value) for name, value in self.sums.items()}, costs)

    @property
    def idle_seconds(self) -> float:
        return max(0.0, self.sums["thread_seconds"] - self.sums["busy_seconds"])

    @property
    def has_jobs(self) -> bool:
        """Whether workers ran in jobs of batch systems."""
        return any(self.sums[name] for name in USAGE)

    @property
    def unused_core_seconds(self) -> float:
        return max(0.0, self.sums["asked_core_seconds"] - self.sums["used_core_seconds"])

    @property
    def unused_memory_seconds(self) -> float:
        return max(0.0, self.sums["asked_memory_seconds"] - self.sums["used_memory_seconds"])


@dataclass(frozen=True, slots=True)
class UsageReport:
    wanted: UsageFilter
    groups: list[str]
    """keys: a project's slug, a person or a tag's value; the largest first, then OTHERS and OUTSIDE"""
    by_group: dict[str, Amounts]
    by_day: dict[date, Amounts]
    """of the clusters; a day without any is left out"""
    cells: dict[tuple[date, str], Amounts]
    total: Amounts
    names: dict[str, str]
    """of the groups, for people"""
    counted: datetime | None
    """up to when the newest cluster was counted"""


def checked(wanted: UsageFilter) -> UsageFilter:
    """Raises ValidationError by field."""
    if wanted.first > wanted.last:
        raise ValidationError({"since": ["The first day is after the last."]})
    if (wanted.last - wanted.first).days >= MOST_DAYS:
        raise ValidationError({"since": [f"Choose at most {MOST_DAYS} days."]})
    if wanted.by == "tag" and not wanted.tag:
        raise ValidationError({"tag": ["Enter the name of the tag by whose values usage is added up."]})
    return wanted


def usage_report(user: Person, wanted: UsageFilter) -> UsageReport:
    """Adds up what `user` may see in at most five queries, whatever the number of tasks and runs."""
    projects = visible_projects(user)
    if wanted.project:
        projects = projects.filter(slug=wanted.project)
    known = {project.pk: project for project in projects}
    rows = Usage.objects.filter(cluster__project__in=list(known), day__range=(wanted.first, wanted.last))
    whole = rows.filter(run=None)
    cells: dict[tuple[date, str], Amounts] = {}
    by_day: dict[date, Amounts] = {}
    for row in _sums(whole):
        by_day.setdefault(row["day"], Amounts()).add(known[row["project"]], row)
    if wanted.by == "project":
        key = F("cluster__project__slug")
        _add_groups(cells, whole, key, known)
    else:
        of_runs = rows.exclude(run=None)
        _add_groups(cells, of_runs, _key(wanted), known)
        outside: dict[date, Amounts] = {}
        for sign, found in ((1, whole), (-1, of_runs)):
            for row in _sums(found):
                outside.setdefault(row["day"], Amounts()).add(known[row["project"]], row, sign)
        for day, amounts in outside.items():
            cells[day, OUTSIDE] = amounts.without_negatives()
    by_group = _merged((group, amounts) for (_, group), amounts in cells.items())
    names = {project.slug: project.name for project in known.values()} if wanted.by == "project" else {}
    without = {"": WITHOUT[wanted.by]} if wanted.by in WITHOUT else {}
    return UsageReport(
        wanted,
        _in_order(by_group),
        by_group,
        by_day,
        cells,
        _merged(("", amounts) for amounts in by_day.values()).get("", Amounts()),
        {key: {**NAMES, **without, **names}.get(key, key) for key in by_group},
        whole.aggregate(counted=Max("until"))["counted"],
    )


def days_before(last: date, number: int) -> date:
    """The first of `number` days up to `last`."""
    return date.fromordinal(max(date.min.toordinal(), last.toordinal() - number + 1))


def _add_groups(
    cells: dict[tuple[date, str], Amounts],
    rows: QuerySet[Usage],
    key: Combinable,
    known: Mapping[int, Project],
) -> None:
    """Adds the days of the MOST_GROUPS largest groups, and of all others together."""
    keyed = rows.annotate(key=key)
    totals = keyed.values("key").annotate(threads=Sum("thread_seconds")).order_by("-threads", "key")
    largest = [row["key"] for row in totals[: MOST_GROUPS + 1]]
    rest: dict[date, Amounts] = {}
    if len(largest) > MOST_GROUPS:
        largest.pop()
        for row in _sums(rows):
            rest.setdefault(row["day"], Amounts()).add(known[row["project"]], row)
    for row in _sums(keyed.filter(key__in=largest), "key"):
        project = known[row["project"]]
        cells.setdefault((row["day"], row["key"]), Amounts()).add(project, row)
        if rest:
            rest[row["day"]].add(project, row, -1)
    for day, amounts in rest.items():
        cells[day, OTHERS] = amounts.without_negatives()


def _key(wanted: UsageFilter) -> Combinable:
    """The person, or the tag's value, of a run; "" where it has none."""
    if wanted.by == "person":
        return F("run__user")
    return Coalesce(KeyTextTransform(wanted.tag, "run__tags"), Value(""), output_field=TextField())


def _sums(rows: QuerySet[Usage], *keys: str) -> list[dict[str, Any]]:
    """The sums of AMOUNTS by day, `project` and keys."""
    grouped = rows.annotate(project=F("cluster__project")).values("day", "project", *keys).order_by()
    found = grouped.annotate(**{f"sum_{name}": Sum(name) for name in AMOUNTS})
    return [{name.removeprefix("sum_"): value for name, value in row.items()} for row in found]


def _merged(found: Iterable[tuple[str, Amounts]]) -> dict[str, Amounts]:
    merged: dict[str, Amounts] = {}
    for key, amounts in found:
        merged.setdefault(key, Amounts()).merge(amounts)
    return merged


def _in_order(by_group: Mapping[str, Amounts]) -> list[str]:
    last: Sequence[str] = (OTHERS, OUTSIDE)
    values = sorted(by_group.keys() - set(last), key=lambda key: (-by_group[key].sums["thread_seconds"], key))
    return [*values, *(key for key in last if key in by_group)]
