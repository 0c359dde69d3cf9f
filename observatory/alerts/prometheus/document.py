"""A file of alerting rules → its rules as they are written. Nothing in it is believed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

LARGEST = 2**20
DEEPEST = 20
MOST_THINGS = 50_000
MOST_RULES = 1_000
LONGEST_TEXT = 5_000
PLAIN = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")}


class DocumentError(ValueError):
    """The file is no file of rules; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """Texts as they are written; those that aren't there are empty."""

    name: str
    expression: str
    hold: str
    keep_firing: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    is_recording: bool = False


def read_document(text: str) -> list[WrittenRule]:
    """The rules of a file of Prometheus', or of a PrometheusRule of Kubernetes. Raises DocumentError."""
    if len(text.encode(errors="replace")) > LARGEST:
        raise DocumentError(f"The file has over {LARGEST // 2**20} MiB.")
    try:
        _check(text)
        document = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError, UnicodeError, ValueError, TypeError, OverflowError) as error:
        if isinstance(error, DocumentError):
            raise
        raise DocumentError(f"It can't be read as YAML: {_line(error)}.") from None
    rules = [rule for group in _groups(document) for rule in _rules(group)]
    if len(rules) > MOST_RULES:
        raise DocumentError(f"The file has over {MOST_RULES} rules.")
    return rules


def _check(text: str) -> None:
    """Before anything is made of it: no aliases, which grow without end, no types, not too deep or much."""
    depth = 0
    for things, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise DocumentError("The YAML has an alias (*); write out what it stands for.")
        tag = getattr(event, "tag", None)
        if tag is not None and tag not in PLAIN:
            raise DocumentError(f"The YAML names a type, {_line(tag)!r}: only plain data is read.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST or things > MOST_THINGS:
            raise DocumentError("The YAML is nested too deep, or holds too much, for a file of rules.")


def _groups(document: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(document, dict) and isinstance(document.get("spec"), dict):
        document = document["spec"]
    groups = document.get("groups") if isinstance(document, dict) else None
    if not isinstance(groups, list):
        raise DocumentError("It is no file of rules: one has a list “groups”, each with a list “rules”.")
    for group in groups:
        if not isinstance(group, dict) or not isinstance(group.get("rules"), list):
            raise DocumentError("One of the groups has no list “rules”.")
        yield group


def _rules(group: Mapping[str, Any]) -> Iterator[WrittenRule]:
    for rule in group["rules"]:
        if not isinstance(rule, dict):
            raise DocumentError("One of the rules isn't an object with “alert” and “expr”.")
        yield WrittenRule(
            name=_text(rule.get("alert") or rule.get("record")),
            expression=_text(rule.get("expr")),
            hold=_text(rule.get("for")),
            keep_firing=_text(rule.get("keep_firing_for")),
            labels=_texts(rule.get("labels")),
            annotations=_texts(rule.get("annotations")),
            is_recording="record" in rule,
        )


def _texts(value: Any) -> dict[str, str]:
    return {_text(name): _text(text) for name, text in value.items()} if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    if not isinstance(value, str | int | float):
        return ""
    text = str(value)
    if len(text) > LONGEST_TEXT:
        raise DocumentError(f"A text in it has over {LONGEST_TEXT} characters: {_line(text[:60])} …")
    return text.strip()


def _line(what: object) -> str:
    return " ".join(str(what).split())[:200]
