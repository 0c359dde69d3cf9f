"""How long each thread of a file was in each stack, in bins: so much fits into the database."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from observatory.exchange.attachments.recorded_file import Interval
from observatory.exchange.attachments.stack_tree import ROOT, StackTree
from observatory.exchange.imports.refusal import Refused

BINS, MOST_ROWS = 1024, 200_000
"""of a file; one with more rows has fewer bins"""
LONGEST = 31 * 86_400.0
"""seconds of a file"""
NUMBERS = ("thread", "bin", "node", "nanoseconds")
"""columns of the rows"""
Integers = npt.NDArray[np.int64]


class StackBinner:
    """Adds up the intervals of a file that lasts `seconds`."""

    def __init__(self, seconds: float) -> None:
        if not 0 < seconds <= LONGEST:
            raise Refused(
                f"The file lasts {seconds:,.0f} seconds: it must be more than 0, and at most 31 days."
            )
        self.bins = BINS
        self._seconds = seconds
        self._sums: dict[tuple[int, int, int], float] = {}

    def add(self, interval: Interval) -> None:
        """Raises Refused if there are too many different stacks."""
        thread, start, stop, node = interval
        if node == ROOT:
            return
        width = self._seconds / self.bins
        last = self.bins - 1
        first, end = (min(max(int(time / width), 0), last) for time in (start, stop))
        for place in range(first, end + 1):
            spent = min(stop, (place + 1) * width) - max(start, place * width)
            if spent > 0:
                key = thread, place, node
                self._sums[key] = self._sums.get(key, 0.0) + spent
        while len(self._sums) > MOST_ROWS:
            self._widen()

    def _widen(self) -> None:
        if self.bins == 1:
            raise Refused(f"The file has more than {MOST_ROWS:,} different stacks.")
        self.bins //= 2
        sums, self._sums = self._sums, {}
        for (thread, place, node), spent in sums.items():
            key = thread, place // 2, node
            self._sums[key] = self._sums.get(key, 0.0) + spent

    def packed(self, tree: StackTree) -> bytes:
        """What unpack() reads. Raises Refused if there is nothing."""
        rows = [(*key, round(spent * 1e9)) for key, spent in sorted(self._sums.items())]
        if not rows:
            raise Refused("The file has no stack in it.")
        columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
        return pack(BinnedStacks(self.bins, tree.lines, tree.parents, tree.frames, *columns))


@dataclass(frozen=True, slots=True)
class BinnedStacks:
    """A row says how many nanoseconds a thread was in a stack in a bin; rows are sorted by these."""

    bins: int
    lines: list[str]
    """name, file and line of each frame, tab-separated"""
    parents: list[int]
    frames: list[int]
    """the line of each node; node 0 is the root"""
    thread: Integers
    bin: Integers
    node: Integers
    nanoseconds: Integers

    def stack(self, node: int) -> str:
        """A line for each frame, outermost first."""
        found = []
        while node != ROOT:
            found.append(self.lines[self.frames[node]])
            node = self.parents[node]
        return "\n".join(reversed(found))


def pack(stacks: BinnedStacks) -> bytes:
    content = asdict(stacks)
    for name in NUMBERS:
        content[name] = content[name].tolist()
    return gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 6)


def unpack(packed: bytes) -> BinnedStacks:
    content = json.loads(gzip.decompress(packed))
    for name in NUMBERS:
        content[name] = np.array(content[name], np.int64)
    return BinnedStacks(**content)
