"""Imports and exports Prometheus rule files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from observatory.alerts.models import Rule
from observatory.alerts.prometheus.reading import LeftOut, ReadRule, left_out, read_rules
from observatory.alerts.prometheus.writing import write_rules
from observatory.alerts.rules.condition_rows import spec_of
from observatory.alerts.rules.validation import problems
from observatory.alerts.web.access import (
    projects_of_metrics,
    require_room_for_a_rule,
    rules_to_name,
)
from observatory.clusters.models import Project


@dataclass(slots=True)
class Imported:
    rules: list[Rule] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    """(rule's name, difference from the file)"""
    left_out: list[LeftOut] = field(default_factory=list)


@transaction.atomic
def import_rules(
    text: str, enabled: bool = False, projects: Iterable[Project] = (), user: User | None = None
) -> Imported:
    """Creates the supported rules, for `projects` (none: all). Raises DocumentError.

    Names and metrics are checked against those that `user` may know; without one against all.
    """
    reading = read_rules(text)
    imported = Imported(left_out=reading.left_out)
    for read in reading.rules:
        if why := _refusal(read, user):
            imported.left_out.append(left_out(read.rule.name, read.expression, "", why))
            continue
        rule = read.rule
        rule.enabled, rule.created_by = enabled, user
        rule.save()
        rule.projects.set(projects)
        for row in read.rows:
            row.rule = rule
            row.save()
        imported.rules.append(rule)
        imported.notes += [(rule.name, note) for note in read.notes]
    return imported


def _refusal(read: ReadRule, user: User | None) -> str:
    """Why the rule can't be created; "" if it can."""
    try:
        if user is not None:
            require_room_for_a_rule(user)
    except ValidationError as error:
        return str(error.messages[0]).removesuffix(".")
    others = rules_to_name(user) if user else Rule.objects.all()
    if others.filter(name=read.rule.name).exists():
        return "a rule with this name exists"
    found = problems(read.rule, read.rows, projects_of_metrics(user) if user else None)
    return "; ".join(problem.message.removesuffix(".") for problem in found)


def export_rules(rules: Iterable[Rule]) -> str:
    """A file with the rules that PromQL can express; comments list the others."""
    return write_rules((rule, spec_of(rule, list(rule.conditions.all()))) for rule in rules)
