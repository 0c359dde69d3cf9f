"""The code that submitted tasks, as one text: the source of each frame below its file and calling lines.

    # /home/anna/etl.py, lines 12, 30 (from line 5)
    def load():
        …

What earlier agents sent, and code without known lines, has a heading with the file alone, or none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

HEADING = re.compile(
    r"^# (\S[^\n]*), lines? (\d{1,9}(?:, \d{1,9})*) \(from line (\d{1,9})\)\n", re.MULTILINE | re.ASCII
)
MOST_CALLS = 20
"""lines of a frame"""


@dataclass(frozen=True, slots=True)
class Frame:
    """A part of a file. Lines are numbered as in the file."""

    source: str
    file: str = ""
    first: int = 1
    """number of the source's first line"""
    calls: tuple[int, ...] = ()
    """that submitted tasks, or called what did; none: they aren't known"""

    def __str__(self) -> str:
        return f"{self._heading()}{self.source}"

    def _heading(self) -> str:
        name = self.file.replace("\n", " ").strip()
        if not name or not self.calls:
            return f"# {name}\n" if name else ""
        numbers = ", ".join(map(str, self.calls[:MOST_CALLS]))
        return f"# {name}, line{'s' if len(self.calls) > 1 else ''} {numbers} (from line {self.first})\n"


def code_of_frames(frames: Iterable[Frame]) -> str:
    """The frames as one text, outermost first."""
    return "\n\n".join(map(str, frames))


def frames_of_code(code: str) -> list[Frame]:
    """The frames of a text, outermost first: one without lines where the text has none."""
    headings = list(HEADING.finditer(code))
    if not headings or headings[0].start() > 0:
        return [Frame(code)] if code else []
    ends = [*(following.start() for following in headings[1:]), len(code)]
    frames = []
    for heading, end in zip(headings, ends, strict=True):
        calls = tuple(map(int, heading[2].split(", ")))
        frames.append(Frame(code[heading.end() : end].rstrip("\n"), heading[1], int(heading[3]), calls))
    return frames


def around_calls(frames: Iterable[Frame], before: int, after: int) -> Iterator[Frame]:
    """Yields of each frame the lines around its calls; those without known calls as they are."""
    for frame in frames:
        lines = frame.source.split("\n")
        windows: list[list[int]] = []
        for call in sorted(set(frame.calls)):
            place = call - frame.first
            if not 0 <= place < len(lines):
                continue
            if windows and place - before <= windows[-1][-1] + after + 1:
                windows[-1].append(place)
            else:
                windows.append([place])
        if not windows:
            yield frame
        for places in windows:
            start = max(0, places[0] - before)
            shown = "\n".join(lines[start : places[-1] + after + 1])
            calls = tuple(frame.first + place for place in places)
            yield replace(frame, source=shown, first=frame.first + start, calls=calls)
