"""What a profile or trace has: on which threads which stack was seen when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from observatory.exchange.attachments.stack_tree import StackTree

LARGEST = 512 * 2**20
"""bytes of a file, unpacked"""
MOST_THREADS = 200

Interval = tuple[int, float, float, int]
"""thread, start and stop in seconds since the file's start, and the node of the stack"""


@dataclass(frozen=True, slots=True)
class RecordedThread:
    process: str
    """name or id, "": the file doesn't tell"""
    pid: int | None
    name: str


@dataclass(slots=True)
class RecordedFile:
    format: str
    """speedscope or trace"""
    threads: list[RecordedThread]
    seconds: float
    """from the file's first to its last instant"""
    began: float | None
    """the file's start, in seconds since the epoch; None: its clock is a relative one"""
    tree: StackTree
    intervals: Iterator[Interval]
    remarks: list[str] = field(default_factory=list)
    """sentences on what the file doesn't tell"""
