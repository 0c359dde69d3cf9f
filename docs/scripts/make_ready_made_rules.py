"""Writes the table of ready-made rules in docs/alerts.md. A test checks that it is up to date."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/alerts.md"
HEAD = "| rule | severity | what it means | for |\n| --- | --- | --- | --- |\n"
TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)*")


def table() -> str:
    """The ready-made rules, one per line."""
    from observatory.alerts.rules.ready_made import RULES

    rows = [(rule.name, rule.severity.label, rule.description, duration(rule.hold)) for rule in RULES]
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def duration(seconds: float) -> str:
    if not seconds:
        return "at once"
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "observatory.config.settings"
    import django

    django.setup()
    PAGE.write_text(TABLE.sub(lambda _: table(), PAGE.read_text(), count=1))
