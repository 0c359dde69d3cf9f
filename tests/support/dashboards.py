"""The tables of docs/dashboards.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_PAGE = (Path(__file__).resolve().parents[2] / "docs/dashboards.md").read_text()


def rows(heading: str) -> Iterator[list[str]]:
    """The cells of each row of the table under a heading."""
    section = _PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    for line in lines[2:]:
        yield [cell.strip() for cell in line.strip("|").split(" | ")]


def _clicks(text: str) -> tuple[int, int]:
    fewest, _, most = text.partition("–")
    return int(fewest), int(most or fewest)


QUESTIONS = {
    question: _clicks(clicks) for question, _, clicks in rows("Questions, and where their answers are")
}
"""the least and the most clicks to an answer, by question"""
