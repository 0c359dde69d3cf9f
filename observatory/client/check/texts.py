"""Texts of a check for people: hostile names can't move the cursor, break a table or call somebody."""

from __future__ import annotations

import re
from typing import Any

TITLES = {
    "outcome": "Outcome",
    "duration": "Duration",
    "pace": "Tasks",
    "prefixes": "Prefixes",
    "memory": "Peak memory",
    "errors": "Errors",
}
VERDICTS = {"worse": "worse", "unclear": "can't tell", "fine": "fine", "skipped": "not checked"}
SPECIAL = frozenset("\\`*_{}[]<>#!|~$^@&\"'")
"""what Markdown of GitHub or GitLab can take for something else than itself"""
CALLING = frozenset("@#!")
"""what makes a mention or a reference with what follows"""
LINKS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
"""where a text that would become a link is broken"""
ZERO_WIDTH = "\u200b"
LONGEST = 300
Item = dict[str, Any]


def line(text: object) -> str:
    """One line that can be printed, whatever the text is."""
    shown = str(text)[: 2 * LONGEST]
    clean = "".join(each if each.isprintable() else " " for each in shown)
    return clean if len(clean) <= LONGEST else f"{clean[: LONGEST - 1]}…"


def lines(text: str) -> str:
    """The lines, without what can't be printed."""
    return "\n".join("".join(filter(str.isprintable, each)) for each in text.splitlines())


def markdown(text: object) -> str:
    """The text as Markdown that shows it as it is."""
    return "".join(_escaped(each) for each in LINKS.sub(ZERO_WIDTH, line(text)))


def _escaped(character: str) -> str:
    entity = f"&#{ord(character)};" if character in SPECIAL else character
    return entity + (ZERO_WIDTH if character in CALLING else "")


def against(check: Item) -> str:
    """What the run was compared with."""
    count = len(check["earlier"])
    if not count:
        return "no earlier run"
    said = "1 earlier run" if count == 1 else f"{count} earlier runs"
    if left_out := check["left_out"]:
        said += f" ({left_out} from before the last lasting change are left out)"
    return said


def findings(check: Item) -> list[str]:
    """A sentence on each new finding; one alone where there are none to compare."""
    found = check["findings"]
    if found["state"] not in ("found", "none", "marked"):
        return ["Its findings aren't known."]
    if not found["compared"]:
        return ["The findings of the earlier runs aren't known."]
    return [each["sentence"] for each in found["new"]] or ["No finding is new."]
