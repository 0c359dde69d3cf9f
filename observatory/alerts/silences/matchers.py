"""Label matchers in the syntax of Prometheus and Alertmanager: `type="managed", worker=~"gpu-.*"`.

Regular expressions are RE2's, which take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from observatory.store.patterns import PatternError, pattern

MAX_MATCHERS = 20
MATCHER = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*')


class MatcherError(ValueError):
    """Says what is wrong, and where."""


@dataclass(frozen=True, slots=True)
class Matcher:
    label: str
    operator: str
    """=, !=, =~ or !~; a regular expression matches the whole value, as in Prometheus"""
    value: str

    def matches(self, labels: Mapping[str, str]) -> bool:
        """A missing label counts as an empty value."""
        value = labels.get(self.label, "")
        if self.operator in ("=", "!="):
            return (value == self.value) == (self.operator == "=")
        return bool(pattern(self.value).fullmatch(value)) == (self.operator == "=~")

    def __str__(self) -> str:
        if "~" in self.operator:  # only quotation marks are escaped in patterns
            escaped = re.sub(r'(\\.)|"', lambda match: match[1] or '\\"', self.value)
        else:
            escaped = self.value.replace("\\", "\\\\").replace('"', '\\"')
        return f'{self.label}{self.operator}"{escaped}"'


def parse_matchers(text: str) -> tuple[Matcher, ...]:
    """Parses matchers, optionally in braces or on several lines.

    Raises MatcherError.
    """
    rest = text.strip().removeprefix("{").removesuffix("}").strip()
    found: list[Matcher] = []
    while rest:
        match = MATCHER.match(rest)
        if match is None:
            raise MatcherError(f'Write labels as name="value" (or !=, =~, !~), not as: {rest[:60]}')
        label, operator, value = match.groups()
        matcher = Matcher(label, operator, re.sub(r"\\(.)", r"\1", value) if "~" not in operator else value)
        if "~" in operator:
            check_pattern(matcher.value)
        found.append(matcher)
        rest = rest[match.end() :].lstrip(",").strip()
    if len(found) > MAX_MATCHERS:
        raise MatcherError(f"At most {MAX_MATCHERS} labels.")
    return tuple(found)


def match_all(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    return all(matcher.matches(labels) for matcher in matchers)


def check_pattern(text: str) -> None:
    """Raises MatcherError for an invalid regular expression."""
    try:
        pattern(text)
    except PatternError as error:
        raise MatcherError(str(error)) from None
