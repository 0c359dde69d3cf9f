"""Writes the list of ready-made rules in docs/alerts.md. A test checks that it is up to date."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/alerts.md"
BEGIN, END = "<!-- rules -->\n", "<!-- end -->"
LIST = re.compile(f"({BEGIN}).*?({END})", re.DOTALL)


def listed() -> str:
    """The ready-made rules, one per line: the first sentence of each, and what it needs."""
    from observatory.alerts.rules.ready_made import RULES

    return "".join(
        f"- **{rule.name}** ({rule.severity.label}, {duration(rule.hold)}): {shortened(rule.description)}\n"
        for rule in RULES
    )


def shortened(description: str) -> str:
    first, *others = description.replace("\n", " ").split(". ")
    needs = [f"{other.rstrip('.')}." for other in others if other.startswith("Needs")]
    return " ".join([f"{first.rstrip('.')}.", *needs])


def duration(seconds: float) -> str:
    if not seconds:
        return "at once"
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "observatory.config.settings"
    import django

    django.setup()
    PAGE.write_text(LIST.sub(lambda found: found[1] + listed() + found[2], PAGE.read_text(), count=1))
