"""Schemas of the answer about attached profiles and traces."""

from __future__ import annotations

from typing import Literal

from ninja import Schema

from observatory.replay.answers.shared_fields import shared
from observatory.replay.scope import Section


@shared("worker", seconds=Section.CODE, name=Section.CODE, process=Section.CODE, pieces=Section.CODE)
class AttachedThread(Schema):
    """A thread of a file, and which function ran on it when."""

    process: str
    name: str
    worker: int | None
    """null: the file and the person who attached it don't tell"""
    seconds: float
    """in any stack, in the window"""
    pieces: list[tuple[float, float, int]]
    """start, stop and the function, by its place in `functions`, that ran for most of it; in order of time"""


@shared("start", "stop", "format", "id", "other_threads", name=Section.CODE, threads=Section.CODE)
class AttachedFile(Schema):
    id: int
    name: str
    format: Literal["speedscope", "trace"]
    start: float
    stop: float
    threads: list[AttachedThread]
    """those with most time in the window"""
    other_threads: int
    """that aren't listed"""


@shared(stack=Section.CODE, microseconds=Section.CODE)
class AttachedStack(Schema):
    stack: str
    """a line for each frame, outermost first: name, file and line, tab-separated"""
    microseconds: list[tuple[int, int, int]]
    """place of the file, place of its thread, and how long that was in the stack"""


@shared("files", functions=Section.CODE, stacks=Section.CODE, other_microseconds=Section.CODE)
class AttachedProfiles(Schema):
    """Profiles and traces that people attached to runs, in a window. Times are seconds on the scheduler's
    clock. Through a public link without code there are none."""

    files: list[AttachedFile]
    functions: list[str]
    """name and file, tab-separated"""
    stacks: list[AttachedStack]
    """those that took longest"""
    other_microseconds: int = 0
    """in stacks that aren't listed"""
