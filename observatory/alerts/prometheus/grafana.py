"""Reads rules of Grafana's own alerting from its provisioning files, as PromQL.

A rule has nodes: queries with PromQL, and expressions that reduce a query to a number, calculate with others
or compare it with a threshold. The node that is named `condition` decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_NODES = 20
"""of one condition; a rule that refers to itself has more"""
COMPARISONS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "eq": "==", "ne": "!="}
SAME_OF_ONE = {"last", "mean", "avg", "min", "max", "sum", "median"}
"""what leaves a single value as it is"""
REFERENCE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
VALUES = re.compile(r"\$values\.\w+(?:\.Value)?")
OF_RULES = {
    *("uid", "title", "condition", "data", "for", "keepFiringFor", "labels", "annotations"),
    *("isPaused", "dashboardUid", "panelId"),
}


class NotPromQL(ValueError):
    """The rule can't be written as one expression of PromQL; the message says why."""


def is_of_grafana(rule: Mapping[Any, Any]) -> bool:
    return isinstance(rule.get("data"), list) and "condition" in rule


def expression_of(rule: Mapping[Any, Any]) -> str:
    """The rule's condition as PromQL. Raises NotPromQL."""
    models = {}
    for node in rule["data"]:
        model = node.get("model") if isinstance(node, dict) else None
        if isinstance(model, dict):
            models[_text(node.get("refId", model.get("refId")))] = model
    return _Nodes(models).expression(_text(rule.get("condition")))


def promql_template(text: str) -> str:
    """A template of an annotation, in which the values of nodes are the alert's value."""
    return VALUES.sub("$value", text)


@dataclass
class _Nodes:
    models: Mapping[str, Mapping[Any, Any]]
    visited: int = 0

    def expression(self, name: str) -> str:
        model = self.models.get(name)
        self.visited += 1
        if model is None:
            raise NotPromQL(f"its node {name[:20]!r} is missing")
        if self.visited > MOST_NODES:
            raise NotPromQL(f"its condition has more than {MOST_NODES} nodes, or refers to itself")
        match model.get("type"):
            case "threshold":
                return self._threshold(model)
            case "reduce":
                return self._reduced(_text(model.get("expression")), _text(model.get("reducer")))
            case "math":
                return self._math(_text(model.get("expression")))
            case "classic_conditions":
                return self._classic(model)
            case "resample":
                raise NotPromQL("“resample” isn't supported")
        expression = model.get("expr")
        if not isinstance(expression, str) or not expression.strip():
            raise NotPromQL(f"its query {name[:20]!r} isn't PromQL")
        return f"({expression.strip()})"

    def _threshold(self, model: Mapping[Any, Any]) -> str:
        conditions = model.get("conditions")
        if not isinstance(conditions, list) or len(conditions) != 1 or not isinstance(conditions[0], dict):
            raise NotPromQL("its threshold hasn't one condition")
        compared = self.expression(_text(model.get("expression")))
        return f"{compared} {_comparison(conditions[0])}"

    def _reduced(self, name: str, reducer: str) -> str:
        expression = self.expression(name)
        is_instant = self.models[name].get("instant") is True
        if reducer != "last" and not (is_instant and reducer in SAME_OF_ONE):
            raise NotPromQL(
                f"its query is reduced by {reducer[:20]!r}: compare the value itself, and let the condition "
                "hold with “for”"
            )
        return expression

    def _math(self, text: str) -> str:
        written = text.replace("&&", " and ").replace("||", " or ")
        return REFERENCE.sub(lambda found: self.expression(found[1] or found[2]), written)

    def _classic(self, model: Mapping[Any, Any]) -> str:
        conditions = model.get("conditions")
        text = ""
        for condition in conditions if isinstance(conditions, list) else []:
            parts = {name: _mapping(condition, name) for name in ("query", "reducer", "operator")}
            named = parts["query"].get("params")
            name = _text(named[0]) if isinstance(named, list) and named else ""
            compared = self._reduced(name, _text(parts["reducer"].get("type")))
            operator = "or" if parts["operator"].get("type") == "or" else "and"
            text += f"{f' {operator} ' if text else ''}{compared} {_comparison(condition)}"
        if not text:
            raise NotPromQL("it has no condition")
        return text


def _comparison(condition: Mapping[Any, Any]) -> str:
    """Of {"evaluator": {"type": "gt", "params": [5]}} "> 5"."""
    evaluator = _mapping(condition, "evaluator")
    kind, numbers = _text(evaluator.get("type")), evaluator.get("params")
    if kind not in COMPARISONS:
        raise NotPromQL(f"the comparison {kind[:20]!r} isn't supported: make a rule of each bound")
    if not isinstance(numbers, list) or not numbers or type(numbers[0]) not in (int, float):
        raise NotPromQL("its threshold isn't a number")
    return f"{COMPARISONS[kind]} {numbers[0]!r}"


def _mapping(value: Any, name: str) -> Mapping[Any, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
