"""Parts of what findings say."""

from __future__ import annotations

from collections.abc import Sequence

from observatory.replay.scope import Scope
from observatory.why.findings.finding import Fact

LONGEST_NAME = 120


def shown_text(scope: Scope, text: str) -> str:
    """A stored text as a scope may show it, cut."""
    shown = scope.text(text)
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}…"


def facts(*pairs: tuple[str, str | None]) -> tuple[Fact, ...]:
    """Facts of labels and values; without those that have none."""
    return tuple(Fact(label, value) for label, value in pairs if value)


def listed(names: Sequence[str], most: int = 3) -> str:
    """Names in a sentence: "a, b and 4 more"."""
    if len(names) <= most:
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


def counted(count: int, what: str) -> str:
    """ "1 task", "2 tasks"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
