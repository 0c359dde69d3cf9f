"""Reads the rules of a rule file of Prometheus or Grafana as text. The file is untrusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from observatory.alerts.prometheus import grafana
from observatory.base.plain_yaml import NotPlain, check_plain

MAX_RULES = 1_000
MAX_TEXT = 5_000
OF_GROUPS = ("name", "rules", "labels")
OF_RULES = ("alert", "record", "expr", "for", "keep_firing_for", "labels", "annotations")


class DocumentError(ValueError):
    """The text isn't a rule file; the message says why."""


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """The texts of a rule; missing ones are empty."""

    name: str
    expression: str
    hold: str
    keep_firing: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    others: Mapping[str, str] = field(default_factory=dict)
    """further fields of the rule and its group"""
    is_recording: bool = False
    refusal: str = ""
    """why it has no expression of PromQL"""


def read_document(text: str) -> list[WrittenRule]:
    """Reads a rule file of Prometheus, a PrometheusRule of Kubernetes, or a provisioning file of Grafana.

    Raises DocumentError.
    """
    try:
        check_plain(text)
        document = yaml.load(text, Loader=yaml.CSafeLoader)
    except NotPlain as error:
        raise DocumentError(_line(error)) from None
    except (yaml.YAMLError, RecursionError, UnicodeError, ValueError, TypeError, OverflowError) as error:
        raise DocumentError(f"It can't be read as YAML: {_line(error)}.") from None
    rules = [rule for group in _groups(document) for rule in _rules(group)]
    if len(rules) > MAX_RULES:
        raise DocumentError(f"The file has more than {MAX_RULES:,} rules.")
    return rules


def _groups(document: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(document, dict) and isinstance(document.get("spec"), dict):
        document = document["spec"]
    groups = document.get("groups") if isinstance(document, dict) else None
    if not isinstance(groups, list):
        raise DocumentError(
            "This isn't a rule file: the list “groups”, each with a list “rules”, is missing."
        )
    for group in groups:
        if not isinstance(group, dict) or not isinstance(group.get("rules"), list):
            raise DocumentError("A group has no list “rules”.")
        yield group


def _rules(group: Mapping[str, Any]) -> Iterator[WrittenRule]:
    for rule in group["rules"]:
        if not isinstance(rule, dict):
            raise DocumentError("A rule isn't an object with “alert” and “expr”.")
        if grafana.is_of_grafana(rule):
            yield _of_grafana(rule)
            continue
        yield WrittenRule(
            name=_text(rule.get("alert") or rule.get("record")),
            expression=_text(rule.get("expr")),
            hold=_text(rule.get("for")),
            keep_firing=_text(rule.get("keep_firing_for")),
            labels=_texts(group.get("labels")) | _texts(rule.get("labels")),
            annotations=_texts(rule.get("annotations")),
            others=_others(group, rule),
            is_recording="record" in rule,
        )


def _of_grafana(rule: Mapping[str, Any]) -> WrittenRule:
    expression = refusal = ""
    try:
        expression = _text(grafana.expression_of(rule))
    except grafana.NotPromQL as error:
        refusal = f"{error}"
    annotations = _texts(rule.get("annotations"))
    return WrittenRule(
        name=_text(rule.get("title")),
        expression=expression,
        hold=_text(rule.get("for")),
        keep_firing=_text(rule.get("keepFiringFor")),
        labels=_texts(rule.get("labels")),
        annotations={name: grafana.promql_template(text) for name, text in annotations.items()},
        others={
            name: value for name, value in _texts(rule).items() if name not in grafana.OF_RULES and value
        },
        refusal=refusal,
    )


def _others(group: Mapping[str, Any], rule: Mapping[str, Any]) -> dict[str, str]:
    return {
        **{f"the group's {name}": value for name, value in _texts(group).items() if name not in OF_GROUPS},
        **{name: value for name, value in _texts(rule).items() if name not in OF_RULES},
    }


def _texts(value: Any) -> dict[str, str]:
    return {_text(name): _text(text) for name, text in value.items()} if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    if not isinstance(value, str | int | float):
        return ""
    text = str(value)
    if len(text) > MAX_TEXT:
        raise DocumentError(f"A text has more than {MAX_TEXT:,} characters: {_line(text[:60])} …")
    return text.strip()


def _line(what: object) -> str:
    return " ".join(str(what).split())[:200]
