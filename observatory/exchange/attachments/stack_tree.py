"""The stacks of a file as a tree: each node is a frame that was called from its parent."""

from __future__ import annotations

from observatory.store.dask_names import OTHER
from observatory.wire.records import printable

MOST_FRAMES, MOST_NODES, DEEPEST = 50_000, 100_000, 500
LONGEST = 300
"""characters of a function's name, and of its file's"""
ROOT = 0
OTHER_FRAME = f"{OTHER}\t\t0"


def frame_line(name: str, file: str = "", line: int = 0) -> str:
    """A frame as profiles have them: name, file and line, tab-separated."""
    return "\t".join((_clean(name) or "?", _clean(file), str(line)))


def clean_line(line: str) -> str:
    """A line of frame_line() that comes from elsewhere."""
    name, _, rest = line.partition("\t")
    file, _, number = rest.partition("\t")
    return frame_line(name, file, line_number(number))


def line_number(text: str) -> int:
    """0 for what is no number of a line."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _clean(text: str) -> str:
    return printable(" ".join(text[: 2 * LONGEST].split()))[:LONGEST]


class StackTree:
    """Nodes by number: 0 is the root, which has no frame. What exceeds the limits becomes OTHER_FRAME."""

    def __init__(self) -> None:
        self.lines: list[str] = [OTHER_FRAME]
        self.parents: list[int] = [ROOT]
        self.frames: list[int] = [0]
        """the line of each node"""
        self._depths: list[int] = [0]
        self._line_of: dict[str, int] = {OTHER_FRAME: 0}
        self._node_of: dict[tuple[int, int], int] = {}

    def frame(self, line: str) -> int:
        """The number of a frame."""
        found = self._line_of.get(line)
        if found is None:
            if len(self.lines) >= MOST_FRAMES:
                return 0
            found = self._line_of[line] = len(self.lines)
            self.lines.append(line)
        return found

    def child(self, node: int, frame: int) -> int:
        """The node of a frame that was called from `node`; `node` itself where the stack is too deep."""
        found = self._node_of.get((node, frame))
        if found is not None:
            return found
        if self._depths[node] >= DEEPEST:
            return node
        if len(self.parents) >= MOST_NODES:
            return self._other(node)
        return self._add(node, frame)

    def _other(self, node: int) -> int:
        """One node stands for all stacks for which there is no room."""
        found = self._node_of.get((ROOT, 0))
        return self._add(ROOT, 0) if found is None else found

    def _add(self, node: int, frame: int) -> int:
        made = self._node_of[node, frame] = len(self.parents)
        self.parents.append(node)
        self.frames.append(frame)
        self._depths.append(self._depths[node] + 1)
        return made
