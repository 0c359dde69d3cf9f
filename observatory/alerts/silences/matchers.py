"""Matchers of labels, as Prometheus and Alertmanager write them: `type="managed", worker=~"gpu-.*"`.

Regular expressions are RE2's, as theirs: they take a time linear in the text, whatever both are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import re2

MOST = 20
LONGEST_PATTERN = 500
MATCHER = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*')


class MatcherError(ValueError):
    """The message says what is wrong, and where."""


@dataclass(frozen=True, slots=True)
class Matcher:
    label: str
    operator: str
    """=, !=, =~ or !~; a regular expression matches the whole value, as in Prometheus"""
    value: str

    def matches(self, labels: Mapping[str, str]) -> bool:
        """A label that isn't there is "" ."""
        value = labels.get(self.label, "")
        if self.operator in ("=", "!="):
            return (value == self.value) == (self.operator == "=")
        return bool(pattern(self.value).fullmatch(value)) == (self.operator == "=~")

    def __str__(self) -> str:
        if "~" in self.operator:  # read as it is written, but for quotation marks
            escaped = re.sub(r'(\\.)|"', lambda match: match[1] or '\\"', self.value)
        else:
            escaped = self.value.replace("\\", "\\\\").replace('"', '\\"')
        return f'{self.label}{self.operator}"{escaped}"'


def parse_matchers(text: str) -> tuple[Matcher, ...]:
    """Of a text like `state="paused", worker=~"gpu-.*"`, also in braces or over lines.

    Raises MatcherError.
    """
    rest = text.strip().removeprefix("{").removesuffix("}").strip()
    found: list[Matcher] = []
    while rest:
        match = MATCHER.match(rest)
        if match is None:
            raise MatcherError(f'Write labels as name="value" (also !=, =~, !~); this is none: {rest[:60]}')
        label, operator, value = match.groups()
        matcher = Matcher(label, operator, re.sub(r"\\(.)", r"\1", value) if "~" not in operator else value)
        if "~" in operator:
            check_pattern(matcher.value)
        found.append(matcher)
        rest = rest[match.end() :].lstrip(",").strip()
    if len(found) > MOST:
        raise MatcherError(f"At most {MOST} labels.")
    return tuple(found)


def match_all(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    return all(matcher.matches(labels) for matcher in matchers)


def check_pattern(text: str) -> None:
    """Raises MatcherError for what is no regular expression."""
    if len(text) > LONGEST_PATTERN:
        raise MatcherError(f"A regular expression has at most {LONGEST_PATTERN} characters.")
    try:
        pattern(text)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise MatcherError(f"“{text[:60]}” is no regular expression (RE2): {reason}.") from None


class Pattern(Protocol):
    def search(self, text: str) -> object | None: ...

    def fullmatch(self, text: str) -> object | None: ...


@cache
def pattern(text: str) -> Pattern:
    """Raises re2.error."""
    options = re2.Options()
    options.log_errors = False
    compiled: Pattern = re2.compile(text, options)
    return compiled
