"""Schemas of the time of a window's threads; replay/schemas.py says how they are held against documents."""

from __future__ import annotations

from ninja import Schema

from observatory.replay.answers.shared_fields import shared
from observatory.replay.scope import Section


@shared("kind", "title", "help", "needs_agent", "seconds")
class KindOfTime(Schema):
    kind: str
    title: str
    help: str
    needs_agent: bool
    seconds: float
    """of threads, in the window"""


@shared("worker", "threads", "seconds")
class WorkerThreadTimes(Schema):
    worker: int
    threads: int
    seconds: list[float]
    """of its threads, for each kind"""


@shared("prefix", "name", "seconds", "blamed", "gil")
class PrefixThreadTimes(Schema):
    prefix: int
    name: str
    seconds: list[float]
    """of threads, for each kind; what isn't about tasks has none"""
    blamed: float
    """seconds for which idle threads waited until its tasks had finished"""
    gil: float
    """seconds for which its tasks waited for the GIL, estimated; 0 also where that wasn't sampled"""


@shared("name", "file", "line", "prefix", "share")
class ProfiledFunction(Schema):
    """A function in which samples of the profile saw tasks: the innermost one."""

    name: str
    file: str
    line: int
    prefix: int | None
    """whose tasks were seen in it most often"""
    share: float
    """of all samples of tasks"""


@shared("seconds", "gil", "has_code", "samples", functions=Section.CODE)
class ComputingTime(Schema):
    """What computing consisted of: for the first time, again, and failed attempts."""

    seconds: float
    """of threads"""
    gil: float | None
    """seconds for which tasks waited for the GIL, estimated; null: it wasn't sampled"""
    has_code: bool
    """whether code is shown: public links show it only where their owner shares it"""
    samples: int
    functions: list[ProfiledFunction]
    """at most ten, those with most samples first"""


@shared("waiting", "computing")
class WithoutCore(Schema):
    """Seconds of threads: others had the cores of the machine, or the limit of a container was reached."""

    waiting: float
    """in which what they waited for was an event loop that was ready to run"""
    computing: float
    """in which tasks were ready to run"""


@shared("key", "prefix", "worker", "lane", "start", "stop", "seconds")
class WaitedFor(Schema):
    """A computation that idle threads waited for."""

    key: str
    prefix: int
    worker: int
    lane: int
    start: float
    stop: float
    seconds: float
    """of idle threads. Tasks that ran at the same time share them equally"""


@shared("start", "width", "seconds")
class OverTime(Schema):
    """Bins of equal width, which together are the window; in seconds."""

    start: float
    width: float
    seconds: list[list[float]]
    """of threads, in each bin; of each kind"""


@shared(
    "start",
    "stop",
    "has_agent",
    "kinds",
    "computing",
    "without_core",
    "workers",
    "other_workers",
    "prefixes",
    "other_prefixes",
    "waited_for",
    "over_time",
)
class ThreadTimes(Schema):
    """Where the time of a window's threads went. The kinds add up to the time of all threads."""

    start: float
    stop: float
    has_agent: bool
    """without one, kinds that need it take no time, and what they would take is in the others"""
    kinds: list[KindOfTime]
    computing: ComputingTime
    without_core: WithoutCore | None = None
    """part of the times above; null: agents on Linux tell it"""
    workers: list[WorkerThreadTimes]
    """at most a thousand, those that were idle longest first"""
    other_workers: int
    """that are left out"""
    prefixes: list[PrefixThreadTimes]
    """at most a hundred, those that took longest first"""
    other_prefixes: int
    waited_for: list[WaitedFor]
    """at most twenty"""
    over_time: OverTime


@shared("kind", "title", "seconds")
class KindOnPath(Schema):
    kind: str
    title: str
    seconds: float
    """of the critical path"""


@shared("prefix", "name", "seconds", "slack")
class PrefixOnPath(Schema):
    prefix: int
    name: str
    seconds: list[float]
    """of the critical path, for each kind: its tasks computed, or waited to begin"""
    slack: float
    """seconds that any of its tasks could have taken longer without delay of the last task; 0: on the path"""


@shared("kind", "start", "stop", "key", "prefix", "worker", "lane")
class PieceOfPath(Schema):
    """A task computed, or waited to begin; null: no task was there."""

    kind: str
    start: float
    stop: float
    key: str | None
    prefix: int | None
    worker: int | None
    lane: int | None
    """where the task computed"""


@shared(
    "start", "stop", "has_agent", "has_graph", "kinds", "prefixes", "other_prefixes", "pieces", "other_pieces"
)
class CriticalPathAnswer(Schema):
    """What each step had to wait for, from the last task backwards. The kinds add up to the window."""

    start: float
    stop: float
    has_agent: bool
    """without one, the path follows the threads"""
    has_graph: bool
    """without it, dependencies are unknown"""
    kinds: list[KindOnPath]
    prefixes: list[PrefixOnPath]
    """at most a hundred, those with most of the path first"""
    other_prefixes: int
    pieces: list[PieceOfPath]
    """in order of time; at most two thousand, the longest"""
    other_pieces: int
