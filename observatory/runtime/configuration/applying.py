"""Makes the database as files say: all of it or nothing, in one transaction. A plan is that, rolled back.

What is in the files is marked (clusters/provisioning/). What leaves the files is removed if `apply` made it;
what people made stays, and so does what has records.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from django.db import DatabaseError, transaction

from observatory.alerts.models import Rule
from observatory.alerts.notifying.receiver_addresses import looking_up_once
from observatory.alerts.rules.ready_made import BY_KEY
from observatory.clusters.provisioning.models import Provisioned
from observatory.runtime.configuration.changes import Act, Change, Plan, field_changes
from observatory.runtime.configuration.documents import read_folder
from observatory.runtime.configuration.kind import Context, DependsOnWrong, Item, Kind, project_of
from observatory.runtime.configuration.kinds import KINDS
from observatory.runtime.configuration.kinds.rule import RuleKind
from observatory.runtime.configuration.matching import free_names, match
from observatory.runtime.configuration.nodes import Place, Problems, nearest, shown
from observatory.runtime.configuration.reading import DELETED, read_deleted_rules, read_items
from observatory.runtime.configuration.secrets import Reference, SecretReader
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import CONFIGURATION, try_lock


class Wrong(ValueError):
    """The files are refused whole: each line is a place and what is wrong there."""

    def __init__(self, problems: Problems) -> None:
        self.lines = problems.lines()
        super().__init__("\n".join(self.lines))


class Busy(ValueError):
    """Another `apply` runs."""


class Changed(ValueError):
    """Since the plan was made, something was changed."""


def apply(
    folder: Path, source: str, secrets: SecretReader, is_plan: bool = False, expected: Plan | None = None
) -> Plan:
    """What was changed, or with `is_plan` would be.

    Raises Wrong, Busy, NoFolder, and Changed for another plan than the expected one.
    """
    problems = Problems()
    files = read_folder(folder, problems)
    items = read_items(files, problems)
    deleted = read_deleted_rules(files, problems)
    context = Context(secrets, problems, {(item.kind.name, item.key) for item in items})
    with _alone(), looking_up_once(), transaction.atomic():
        applying = _Applying(source, context, items)
        applying.match()
        applying.remove()
        applying.delete_ready_made(deleted)
        applying.save()
        if problems.found:
            raise Wrong(problems)
        applying.mark()
        if expected is not None and applying.plan.changes != expected.changes:
            raise Changed("The files or what is stored changed since this plan. Nothing was done: try again.")
        if is_plan:
            transaction.set_rollback(True)
    return applying.plan


def release(source: str) -> int:
    """Lets go of all that came from a source, and changes nothing of it; returns how much that was."""
    with _alone():
        count, _ = Provisioned.objects.filter(source=source).delete()
    return count


@contextmanager
def _alone() -> Iterator[None]:
    with connect() as connection, try_lock(connection, 0, CONFIGURATION) as is_ours:
        if not is_ours:
            raise Busy("Another apply runs. Try again when it has ended.")
        yield


@dataclass(slots=True)
class _Applying:
    source: str
    context: Context
    items: list[Item]
    plan: Plan = field(default_factory=Plan)
    marks: dict[tuple[str, int], Provisioned] = field(default_factory=dict)
    """by model and number, of all sources"""
    failed: set[tuple[str, str]] = field(default_factory=set)
    made: list[Provisioned] = field(default_factory=list)
    """the marks of what is in the files, unsaved"""

    def match(self) -> None:
        """Finds the rows of the items. Projects and rows of other sources stay whose they are."""
        self.marks = {(mark.kind, mark.number): mark for mark in Provisioned.objects.all()}
        for item, reason in match(self.items, self.marks, self.source):
            self._fail(item, item.node.place, reason)

    def remove(self) -> None:
        """First of all, so that names and addresses are free again."""
        kept = {(item.kind.model._meta.label_lower, item.existing.pk) for item in self.items if item.existing}
        for kind in reversed(KINDS):
            label = kind.model._meta.label_lower
            gone = [
                mark
                for (of, number), mark in self.marks.items()
                if of == label and mark.source == self.source and (of, number) not in kept
            ]
            for mark in sorted(gone, key=lambda each: each.key):
                self._remove(kind, mark)

    def delete_ready_made(self, deleted: list[tuple[Place, str]]) -> None:
        for place, key in deleted:
            if key not in BY_KEY:
                self.context.problems.add(place, f"There is no such rule. {nearest(key, BY_KEY)}")
                continue
            rule = Rule.objects.filter(key=key).first()
            if rule is None:
                continue
            if any(item.existing == rule for item in self.items):
                self.context.problems.add(place, f"The rule {shown(rule.name)} is in the files as well.")
                continue
            was_enabled, title = rule.enabled, f"rule {rule.name}"
            if note := RuleKind().remove(rule):
                changes = field_changes({"enabled": was_enabled}, {"enabled": False})
                if changes:
                    self.plan.changes.append(Change(Act.CHANGE, title, str(place), changes, note))
            else:
                self.plan.changes.append(Change(Act.REMOVE, title, str(place), note=f"It is in {DELETED}."))

    def save(self) -> None:
        for kind, items in groupby(self.items, key=lambda item: item.kind):
            self._save_kind(kind, list(items))

    def mark(self) -> None:
        """Marks what is in the files. What is marked as it should be stays as it is."""
        own = {key: mark for key, mark in self.marks.items() if mark.source == self.source}
        wanted = {(mark.kind, mark.number): mark for mark in self.made}
        stale = [mark.pk for key, mark in own.items() if not _same(mark, wanted.get(key))]
        Provisioned.objects.filter(pk__in=stale).delete()
        new = [mark for key, mark in wanted.items() if not _same(own.get(key), mark)]
        Provisioned.objects.bulk_create(new)

    def _remove(self, kind: Kind, mark: Provisioned) -> None:
        row = kind.model._base_manager.filter(pk=mark.number).first()
        title = f"{kind.name} {mark.key}"
        if row is None:
            return
        if mark.was_made_by_hand:
            note = "It was there before it was in the files, so it stays."
            self.plan.changes.append(Change(Act.RELEASE, title, "", note=note))
        elif reason := kind.remove(row):
            self.plan.changes.append(Change(Act.RELEASE, title, "", note=f"It stays. {reason}"))
        else:
            self.plan.changes.append(Change(Act.REMOVE, title, ""))

    def _save_kind(self, kind: Kind, items: list[Item]) -> None:
        rows = {row.pk: row for row in kind.candidates()}  # removals can have changed them
        for item in items:
            if item.existing is not None:
                item.existing = rows.get(item.existing.pk)
            if item.existing is not None:
                item.before = kind.values(item.existing)
        free_names(kind, items)
        for item in items:
            if (kind.name, item.key) in self.failed:
                continue
            if ("project", item.project) in self.failed and project_of(item) is None:
                continue  # what is wrong with its project is told
            try:
                self._save(item)
            except DependsOnWrong:
                self.failed.add((kind.name, item.key))

    def _save(self, item: Item) -> None:
        kind, problems = item.kind, self.context.problems
        before_problems = len(problems.found)
        if kind.is_over(item):
            self._keep(item)
            return
        data = kind.data(item, self.context)
        if len(problems.found) > before_problems:
            self.failed.add((kind.name, item.key))
            return
        form = kind.form(data, item)
        for key, messages in kind.errors(form):
            self._fail(item, item.place_of(key) if key else item.node.place, " ".join(messages))
        if (kind.name, item.key) in self.failed:
            return
        after, label = kind.values_of_form(form, item), kind.model._meta.label_lower
        secrets, references = kind.changed_secrets(form, item), kind.references(form, item)
        mark = self.marks.get((label, item.existing.pk)) if item.existing else None
        before = item.before
        changes = field_changes(before, after)
        changed = {key for key in after if before.get(key) != after.get(key)}
        shown_changes = changes + _of_secrets(secrets, references, mark)
        is_new, is_adopted = item.existing is None, item.existing is not None and mark is None
        must_save = is_new or changes or secrets
        saved = self._saved(item, form, changed) if must_save else item.existing
        if saved is None:
            return
        item.saved = saved
        self._mark(item, saved, references, mark)
        note = "It was there before, and is provisioned from now on. " if is_adopted else ""
        note = (note + kind.note(before, after)).strip()
        if is_new or shown_changes or is_adopted:
            act = Act.ADD if is_new else Act.CHANGE
            place = f"{item.node.place.file}:{item.node.place.line}"
            self.plan.changes.append(Change(act, item.title, place, shown_changes, note))
        else:
            self.plan.unchanged += 1

    def _keep(self, item: Item) -> None:
        """Of what is over: it isn't made again, and nothing of it changes."""
        if item.existing is None:
            self.plan.notes.append(f"The {item.title} is over, and isn't made.")
            return
        mark = self.marks.get((item.kind.model._meta.label_lower, item.existing.pk))
        self._mark(item, item.existing, {}, mark)
        self.plan.unchanged += 1

    def _mark(
        self, item: Item, row: Any, references: dict[str, Reference], before: Provisioned | None
    ) -> None:
        was_there = item.existing is not None and before is None
        self.made.append(
            Provisioned(
                source=self.source,
                file=item.node.place.file,
                kind=item.kind.model._meta.label_lower,
                key=item.key,
                number=row.pk,
                was_made_by_hand=was_there or (before is not None and before.was_made_by_hand),
                references=references,
            )
        )

    def _saved(self, item: Item, form: Any, changed: set[str]) -> Any:
        """None, and a problem, for what the forms allow and the database doesn't."""
        try:
            with transaction.atomic():
                return item.kind.save(form, item, changed)
        except DatabaseError as error:
            reason = " ".join(str(error).split())
            self._fail(item, item.node.place, f"The database refuses it: {reason[:300]}")
            return None

    def _fail(self, item: Item, place: Place, message: str) -> None:
        self.failed.add((item.kind.name, item.key))
        self.context.problems.add(place, message)


def _of_secrets(
    changed: list[str], references: dict[str, Reference], mark: Provisioned | None
) -> tuple[Any, ...]:
    """The references that change; and those that lead to another secret than before."""
    before = {name: _reference(each) for name, each in (mark.references if mark else {}).items()}
    after = {name: _reference(each) for name, each in references.items()}
    for path in changed:
        name = path.rpartition(".")[2]
        if name in after:
            after[name] += " (another secret)" if before.get(name) == after[name] else ""
        elif name not in before:
            before[name] = "a secret"
    return field_changes(before, after)


def _reference(reference: Reference) -> str:
    [(way, name)] = reference.items()
    return f"{{{way}: {name}}}"


def _same(mark: Provisioned | None, other: Provisioned | None) -> bool:
    names = ("source", "file", "key", "was_made_by_hand", "references")
    if mark is None or other is None:
        return False
    return all(getattr(mark, name) == getattr(other, name) for name in names)
