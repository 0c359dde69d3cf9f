"""Regular expressions that people write. They are RE2's, which take time linear in the text."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import re2

MAX_PATTERN = 500
"""characters"""


class PatternError(ValueError):
    """Says what is wrong with a regular expression."""


class Pattern(Protocol):
    def search(self, text: str) -> object | None: ...

    def fullmatch(self, text: str) -> object | None: ...


@lru_cache(1000)
def pattern(text: str, *, ignores_case: bool = False) -> Pattern:
    """Return a compiled regular expression. Raises PatternError."""
    return compiled(text, MAX_PATTERN, ignores_case=ignores_case)


def compiled(text: str, longest: int, *, ignores_case: bool = False) -> Pattern:
    """Of up to `longest` characters; it isn't kept. Raises PatternError."""
    if len(text) > longest:
        raise PatternError(f"A regular expression has at most {longest:,} characters.")
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignores_case
    try:
        found: Pattern = re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise PatternError(f"“{text[:60]}” isn't a valid regular expression (RE2): {reason}.") from None
    return found
