"""Schemas of a timeline's transfers; schemas.py says how they are held against real documents."""

from __future__ import annotations

from typing import Literal

from ninja import Schema

from observatory.replay.answers.shared_fields import shared
from observatory.replay.scope import Section


@shared("count", "nbytes", "seconds", "unsized")
class TransferSums(Schema):
    """Transfers together, with the messages of P2P shuffles."""

    count: float
    nbytes: float
    """of those whose size is known"""
    seconds: float
    unsized: float
    """how many of them have no known size: those that only spans tell of, as of stock clusters"""


@shared("kind", "worker", "host")
class TransferPlace(Schema):
    """A row and a column of the matrix of transfers."""

    kind: Literal["worker", "host", "unknown", "others"]
    """others: the smallest together"""
    worker: int | None
    host: str | None


@shared("sender", "receiver")
class TransferCell(TransferSums):
    """Transfers of a pair; `sender` and `receiver` are indexes of places."""

    sender: int
    receiver: int


@shared("key", "nbytes")
class TransferKey(Schema):
    key: str
    nbytes: float | None


@shared("sender", "receiver", "start", "stop", "nbytes", "count", "keys", "lane", "waiting", "prefix")
class LargeTransfer(Schema):
    """A transfer; `sender` and `receiver` are ids of workers, null: unknown."""

    sender: int | None
    receiver: int | None
    start: float
    stop: float
    nbytes: float
    count: int
    """number of keys, of which the first twenty are listed"""
    keys: list[TransferKey]
    lane: int | None
    waiting: str | None
    """key of the task that the data was fetched for; null: unknown"""
    prefix: int | None
    """id of that task's prefix"""


@shared("victim", "thief", "outcome", "count")
class StealCount(Schema):
    """Requests of one victim and thief with one outcome; ids of workers, null: unknown."""

    victim: int | None
    thief: int | None
    outcome: str
    count: int


@shared("medium", "what", "nbytes", "progress")
class ShuffleAmount(Schema):
    """Bytes of a P2P shuffle at its last sample in the window, and at some before."""

    medium: str
    what: str
    nbytes: float
    progress: list[tuple[float, float]]
    """time and bytes, at most forty"""


@shared("shuffle", "name", "first", "last", "amounts", code=Section.CODE)
class ShuffleProgress(Schema):
    """What a P2P shuffle had moved by the end of the window."""

    shuffle: str
    """Dask's id"""
    name: str
    """“merge of timeseries by name”, as far as the agent could know it; "" otherwise"""
    code: str
    """the line that submitted it, with its file; "" where Dask recorded none"""
    first: float
    last: float
    amounts: list[ShuffleAmount]


@shared("start", "width", "count", "nbytes", "received", "sent")
class TransfersOverTime(Schema):
    """Transfers by the bin in which they start; bin `i` begins at `start + i * width` (seconds)."""

    start: float
    width: float
    count: list[float]
    nbytes: list[float]
    """of those whose size is known"""
    received: list[float] | None
    sent: list[float] | None
    """bytes of the worker that was asked for; null: none was"""


@shared(
    "start",
    "stop",
    "total",
    "unknown_senders",
    "over_time",
    "places",
    "cells",
    "largest",
    "steals",
    "outcomes",
    "shuffles",
)
class Transfers(Schema):
    """Transfers that start in a window, stealing, and P2P shuffles."""

    start: float
    stop: float
    """what of the window was recorded"""
    total: TransferSums
    unknown_senders: float
    """transfers whose sender isn't known, nor, of stock clusters, their bytes"""
    over_time: TransfersOverTime
    places: list[TransferPlace]
    cells: list[TransferCell]
    largest: list[LargeTransfer]
    """at most fifty, the largest first"""
    steals: list[StealCount]
    """at most two hundred, the most frequent first"""
    outcomes: dict[str, int]
    """of all requests to steal"""
    shuffles: list[ShuffleProgress]
