"""Rules with their conditions. Ready-made ones are known by their key, whatever people call them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import QuerySet

from observatory.alerts.admin.rule_form import ConditionForm, EvaluationForm, RuleForm
from observatory.alerts.models import Rule, RuleMade
from observatory.alerts.rules.amounts import format_amount
from observatory.alerts.rules.condition_rows import rows_of
from observatory.alerts.rules.ready_made import BY_KEY
from observatory.runtime.configuration.conditions import (
    KEY,
    conditions_data,
    read_conditions,
    written_condition,
)
from observatory.runtime.configuration.fields import Field, Shape, Value, text_of
from observatory.runtime.configuration.kind import ACTOR, Context, Item, Kind, messages_of
from observatory.runtime.configuration.nodes import Mapping as Node
from observatory.runtime.configuration.nodes import Problems, nearest
from observatory.runtime.configuration.scopes import names, projects_data, targets_data

READY_MADE = "ready_made"
SCOPES = ("projects", "targets")
EVALUATED = {"enabled", "for", "no_data", "cluster_names", KEY, *SCOPES}


class UncheckedRuleForm(RuleForm):
    """Without the checks of what metrics and labels there are: for a rule that may be the stored one.

    A rule that was applied stays right when the last cluster that reported its metric is gone.
    """

    def _post_clean(self) -> None:
        super(EvaluationForm, self)._post_clean()  # type: ignore[misc]


class RuleKind(Kind):
    name, section, model = "rule", "rules", Rule
    fields = (
        Field("name"),
        Field("enabled", Shape.FLAG),
        Field("severity", is_always_written=True),
        Field("description"),
        Field("advice"),
        Field("message"),
        Field("cluster_names", Shape.LINES),
        Field("for", name="hold_seconds"),
        Field("no_data"),
    )
    further_keys = (READY_MADE, KEY, *SCOPES)

    def key_of(self, row: Rule) -> str:
        return row.name

    def written_key(self, node: Node, project: str, problems: Problems) -> str | None:
        key = _ready_made(node, problems)
        if key and key not in BY_KEY:
            problems.add(node.entries[READY_MADE].place, f"There is no such rule. {nearest(key, BY_KEY)}")
            return None
        if key and "name" not in node.entries:
            return BY_KEY[key].name
        return super().written_key(node, project, problems)

    def identity(self, item: Item) -> Hashable:
        key = _ready_made(item.node, Problems())
        return ("made as", key) if key else ("named", item.key)

    def identities_of(self, row: Rule) -> list[Hashable]:
        return [("made as", row.key), ("named", row.name)]

    def data(self, item: Item, context: Context) -> dict[str, Any]:
        ready_made = BY_KEY.get(_ready_made(item.node, Problems()))
        conditions = read_conditions(item.node, ready_made.conditions if ready_made else (), context.problems)
        defaults = ready_made.fields() if ready_made else {}
        keys = {each.form_name: each.key for each in self.fields}
        return {
            **super().data(item, context),
            **{name: str(value) for name, value in defaults.items() if not item.is_written(keys[name])},
            **conditions_data(conditions),
            "projects": projects_data(item, context),
            "targets": targets_data(item, context),
        }

    def form(self, data: dict[str, Any], item: Item) -> forms.BaseModelForm[Any]:
        if item.existing:
            form: RuleForm = UncheckedRuleForm(data, instance=item.existing)
            form.user = ACTOR
            is_valid = form.is_valid() and not _errors_of(form.submitted)
            if is_valid and item.before == self.values_of_form(form, item):
                return form
            item.existing.refresh_from_db()
        form = RuleForm(data, instance=item.existing)
        form.user = ACTOR
        return form

    def errors(self, form: RuleForm) -> list[tuple[str, list[str]]]:
        return [*super().errors(form), *_errors_of(form.submitted)]

    def values(self, row: Rule) -> dict[str, Value]:
        return {
            READY_MADE: row.key,
            **super().values(row),
            "for": format_amount(float(row.hold_seconds), "seconds"),
            **{key: names(key, getattr(row, key).all()) for key in SCOPES},
            KEY: [written_condition(each) for each in row.conditions.all()],
        }

    def values_of_form(self, form: Any, item: Item) -> dict[str, Value]:
        return {
            READY_MADE: _ready_made(item.node, Problems()),
            **super().values(form.instance),
            "for": format_amount(float(form.instance.hold_seconds), "seconds"),
            **{key: names(key, form.cleaned_data[key]) for key in SCOPES},
            KEY: [written_condition(each.instance) for each in form.submitted],
        }

    def defaults(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Those of a ready-made rule are its own."""
        own = {READY_MADE: "", **super().defaults(values), "for": "0"}
        ready_made = BY_KEY.get(values[READY_MADE])
        if ready_made is None:
            return own
        keys = {each.form_name: each.key for each in self.fields}
        return {
            **own,
            **{keys[name]: str(value) for name, value in ready_made.fields().items()},
            "for": format_amount(ready_made.hold, "seconds"),
            READY_MADE: None,
            KEY: [written_condition(row) for row in rows_of(ready_made.conditions)],
        }

    def save(self, form: RuleForm, item: Item, changed: set[str]) -> Rule:
        """As the admin does, with the conditions in the order of the file."""
        rule = form.instance
        rule.key = _ready_made(item.node, Problems())
        if EVALUATED & changed:
            rule.restart_evaluation()
        form.save()
        if rule.key:
            RuleMade.objects.get_or_create(key=rule.key)
        if KEY in changed:
            rule.conditions.all().delete()
            for position, each in enumerate(form.submitted):
                each.instance.rule, each.instance.position = rule, position
                each.instance.save()
        return rule

    def rows(self) -> QuerySet[Rule]:
        found = Rule.objects.prefetch_related("projects", "targets__project", "conditions")
        return found.order_by("name", "pk")

    def remove(self, row: Rule) -> str:
        """One that has raised alerts keeps them."""
        if count := row.alerts.count():
            row.enabled = False
            row.save(update_fields=["enabled"])
            return f"It is disabled, as it has raised {count} alerts. The admin deletes it with them."
        return super().remove(row)


def _ready_made(node: Node, problems: Problems) -> str:
    written = node.entries.get(READY_MADE)
    return (text_of(written, problems) or "") if written else ""


def _errors_of(conditions: list[ConditionForm]) -> list[tuple[str, list[str]]]:
    return [
        (
            f"{KEY}[{number}]" + ("" if name == NON_FIELD_ERRORS else f".{name}"),
            messages_of(each, name),
        )
        for number, each in enumerate(conditions)
        for name in each.errors
    ]
