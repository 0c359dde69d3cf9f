"""Lists of projects, targets and rules by their names, of what applies to some. An empty list means all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from observatory.alerts.models import Rule
from observatory.clusters.access import projects_to_manage
from observatory.clusters.models import Target
from observatory.runtime.configuration.kind import ACTOR, Context, Item


def projects_data(item: Item, context: Context) -> list[int]:
    return context.rows_named(item, "projects", "project", _projects)


def targets_data(item: Item, context: Context) -> list[int]:
    return context.rows_named(item, "targets", "target", _targets)


def rules_data(item: Item, context: Context) -> list[int]:
    return context.rows_named(item, "rules", "rule", _rules)


def _projects() -> dict[str, list[int]]:
    return {slug: [pk] for slug, pk in projects_to_manage(ACTOR).values_list("slug", "pk")}


def _targets() -> dict[str, list[int]]:
    targets = Target.objects.filter(project__in=projects_to_manage(ACTOR)).select_related("project")
    return {target_name(target): [target.pk] for target in targets}


def _rules() -> dict[str, list[int]]:
    """Names need not be unique."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for pk, name in Rule.objects.values_list("pk", "name"):
        numbers[name].append(pk)
    return numbers


def target_name(target: Target) -> str:
    """As files name it: project/target."""
    return f"{target.project.slug}/{target.name}"


def names(key: str, rows: Iterable[Any]) -> list[str]:
    """Of the rows of a list, as files name them."""
    match key:
        case "projects":
            return sorted(project.slug for project in rows)
        case "targets":
            return sorted(map(target_name, rows))
        case _:
            return sorted(str(row.name) for row in rows)
