"""Which prefixes of tasks have series of their own: with a prefix a task there would be ever more series."""

from __future__ import annotations

from collections.abc import Collection, Iterable

MAXIMUM_PREFIXES = 300
"""Prefixes with series of their own, of a cluster."""
OTHERS = "others"
"""The prefix of the series that sum up all further ones."""


class NamedPrefixes:
    """The prefixes with series of their own. A prefix stays what it is: sums of counters never fall."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        """`known`: prefixes that have series already."""
        self._named = {prefix for prefix in known if prefix != OTHERS}
        self._others: set[str] = set()

    def name_of(self, prefix: str) -> str:
        """The prefix itself, if it has series of its own, else OTHERS."""
        if prefix in self._named:
            return prefix
        if prefix != OTHERS and prefix not in self._others and len(self._named) < MAXIMUM_PREFIXES:
            self._named.add(prefix)
            return prefix
        self._others.add(prefix)
        return OTHERS

    def forget_others_than(self, present: Collection[str]) -> None:
        """Prefixes that are gone make room for new ones."""
        self._named.intersection_update(present)
        self._others.intersection_update(present)

    @property
    def message(self) -> str:
        """What people have to know of it; "" while all prefixes have series of their own."""
        if not self._others - {OTHERS}:
            return ""
        return f"there are over {MAXIMUM_PREFIXES} prefixes: those of further ones are summed as “{OTHERS}”"
