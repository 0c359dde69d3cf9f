"""Pages of the admin as owners use them, and all rows behind them."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from observatory.alerts.models import Alert, Channel, Condition, Delivery, MaintenanceWindow, Rule, Silence
from tests.alerts.admin.forms import MEMORY, rule_form

ADMIN = "/admin/alerts/"


RULES, CHANNELS = f"{ADMIN}rule/", f"{ADMIN}channel/"


def change(item: Any) -> str:
    return reverse(f"admin:alerts_{item._meta.model_name}_change", args=[item.pk])


def errors(answer: Any) -> dict[str, Any]:
    return dict(answer.context["adminform"].form.errors)


def rows(*models: Any) -> list[Any]:
    """All rows of the models and what their `projects` are, as they are stored."""
    found: list[Any] = []
    for model in models:
        found += model.objects.order_by("pk").values()
        if hasattr(model, "projects"):
            found += model.projects.through.objects.order_by("pk").values()
    return found


def everything() -> list[Any]:
    return rows(Rule, Condition, Channel, Delivery, Silence, MaintenanceWindow, Alert)


def saved_rule(rule: Rule, **fields: Any) -> dict[str, Any]:
    """The form of a rule with one condition, as its page sends it."""
    condition = MEMORY | {"id": rule.conditions.get().pk, "rule": rule.pk}
    return rule_form(condition, name=rule.name, **fields)
