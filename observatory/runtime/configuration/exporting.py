"""Writes what there is as files that `apply` reads. The same again, after they were applied elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from observatory.alerts.models import Rule, RuleMade
from observatory.clusters.accounts.models import GroupRole
from observatory.clusters.models import Project, Target
from observatory.clusters.provisioning.models import Provisioned
from observatory.runtime.configuration.credentials import KEY as CREDENTIALS
from observatory.runtime.configuration.credentials import OfServers
from observatory.runtime.configuration.kind import Kind
from observatory.runtime.configuration.kinds import GROUP_ROLE, OF_ALL, OF_PROJECTS, PROJECT
from observatory.runtime.configuration.nodes import printable
from observatory.runtime.configuration.reading import DELETED
from observatory.runtime.configuration.scopes import target_name
from observatory.runtime.configuration.secrets import Reference, reference_to_make

HEAD = "# Applied by `dask-observatory apply FOLDER`.\n"
WIDTH = 110


@dataclass(slots=True)
class Exported:
    files: dict[str, str] = field(default_factory=dict)
    """texts by name"""
    notes: list[str] = field(default_factory=list)
    """what was left out, and why"""
    variables: list[str] = field(default_factory=list)
    """that have to have the secrets which people entered"""


def export() -> Exported:
    return _Exporting().files()


class _Exporting:
    def __init__(self) -> None:
        self.exported = Exported()
        self.marks = {(mark.kind, mark.number): mark for mark in Provisioned.objects.all()}
        self.taken = {
            name
            for mark in self.marks.values()
            for each in mark.references.values()
            for name in each.values()
        }

    def files(self) -> Exported:
        for project in PROJECT.rows():
            self._write(f"projects/{project.slug}.yaml", {PROJECT.section: [self._project(project)]})
        for kind in OF_ALL:
            content: dict[str, Any] = {}
            if rows := self._of_all(kind):
                content[kind.section] = [self._item(kind, row) for row in rows]
            if kind.model is Rule and (deleted := _deleted_ready_made()):
                content[DELETED] = deleted
            if content:
                self._write(f"{kind.section}.yaml", content)
        return self.exported

    def _project(self, project: Project) -> dict[str, Any]:
        content = self._item(PROJECT, project)
        roles = GROUP_ROLE.rows().filter(project=project)
        if groups := {role.group: str(role.role) for role in roles if isinstance(role, GroupRole)}:
            content[GROUP_ROLE.section] = groups
        for kind in OF_PROJECTS:
            if rows := [self._item(kind, row) for row in kind.rows().filter(project=project)]:
                content[kind.section] = rows
        return content

    def _item(self, kind: Kind, row: Any) -> dict[str, Any]:
        content = kind.written(kind.values(row))
        mark = self.marks.get((row._meta.label_lower, row.pk))
        known = mark.references if mark else {}
        references = {
            name: known.get(name) or self._reference(kind, row, name) for name in kind.stored_secrets(row)
        }
        if isinstance(kind, OfServers):
            return {**content, **({CREDENTIALS: references} if references else {})}
        return {**content, **references}

    def _reference(self, kind: Kind, row: Any, name: str) -> Reference:
        made = reference_to_make(kind.name, kind.key_of(row), name)["env"]
        number, variable = 2, made
        while variable in self.taken:
            number, variable = number + 1, f"{made}_{number}"
        self.taken.add(variable)
        self.exported.variables.append(variable)
        return {"env": variable}

    def _of_all(self, kind: Kind) -> list[Any]:
        """The rows that files can describe; notes name the others."""
        rows = list(kind.rows())
        counts = Counter(kind.key_of(row) for row in rows)
        kept = []
        for row in rows:
            reason = f"{counts[kind.key_of(row)]} have this name." if counts[kind.key_of(row)] > 1 else ""
            if reason := reason or _why_not(row):
                self.exported.notes.append(printable(f"Left out: {kind.name} {kind.key_of(row)}. {reason}"))
            else:
                kept.append(row)
        return kept

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        text = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=WIDTH)
        self.exported.files[name] = HEAD + text


def _why_not(row: Any) -> str:
    """What is limited to what files don't have would apply to all without it."""
    found: Iterable[Target] = row.targets.all() if hasattr(row, "targets") else ()
    names = [target_name(target) for target in found if target.discovery_id is not None]
    if names:
        return f"It is limited to {names[0]}, a target that a discovery found."
    if any(project.is_own for project in row.projects.all()):
        return "It is limited to the project of Observatory itself."
    if hasattr(row, "rules"):
        several = [rule.name for rule in row.rules.all() if Rule.objects.filter(name=rule.name).count() > 1]
        if several:
            return f"It is limited to the rule {several[0]}, a name that several have."
    return ""


def _deleted_ready_made() -> list[str]:
    there = Rule.objects.exclude(key="").values_list("key", flat=True)
    return sorted(set(RuleMade.objects.values_list("key", flat=True)) - set(there))
