"""The place in the code where an error was raised, from its traceback as Python prints it."""

from __future__ import annotations

import re
from dataclasses import dataclass

FRAME = re.compile(r'^ *File "([^"\n]{1,1000})", line (\d{1,9}), in ([^\n]{1,300})$', re.MULTILINE)
LIBRARY = re.compile(
    r"[/\\](site-packages|dist-packages|lib[/\\]python\d[\d.]*|observatory[/\\]agent)[/\\]|^<frozen |\.pyx$"
)
"""files that are not the user's own code; the agent's also where it runs from a checkout"""
LONGEST_TRACEBACK = 200_000
"""characters at its end in which frames are searched"""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of code; all empty where the traceback has none."""

    function: str = ""
    file: str = ""
    """its name without the folder, which differs between machines"""
    line: int = 0

    @property
    def key(self) -> str:
        """What errors of the same place have in common. Lines move with each release: they are left out."""
        return f"{self.file}:{self.function}" if self.file else ""


def place_of(traceback: str) -> Place:
    """The last frame in the user's own code; of a library's where there is no other."""
    frames = FRAME.findall(traceback[-LONGEST_TRACEBACK:])
    if not frames:
        return Place()
    own = [frame for frame in frames if not LIBRARY.search(frame[0])]
    path, line, function = (own or frames)[-1]
    return Place(function[:200], re.split(r"[/\\]", path)[-1][:200], min(int(line), 2**31 - 1))
