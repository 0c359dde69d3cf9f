"""Schemas of a timeline's transfers; schemas.py says how they are held against real documents."""

from __future__ import annotations

from typing import Literal

from ninja import Schema


class TransferSums(Schema):
    """Transfers together."""

    count: float
    nbytes: float
    """0 where only spans tell of them"""
    seconds: float


class TransferPlace(Schema):
    """A row and a column of the matrix of transfers."""

    kind: Literal["worker", "host", "unknown", "others"]
    """others: the smallest together"""
    worker: int | None
    host: str | None


class TransferCell(TransferSums):
    """Transfers of a pair; `sender` and `receiver` are indexes of places."""

    sender: int
    receiver: int


class TransferKey(Schema):
    key: str
    nbytes: float | None


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


class StealCount(Schema):
    """Requests of one victim and thief with one outcome; ids of workers, null: unknown."""

    victim: int | None
    thief: int | None
    outcome: str
    count: int


class ShuffleAmount(Schema):
    medium: str
    what: str
    nbytes: float


class ShuffleProgress(Schema):
    """What a P2P shuffle had moved by the end of the window."""

    shuffle: str
    first: float
    last: float
    amounts: list[ShuffleAmount]


class Transfers(Schema):
    """Transfers that start in a window, stealing, and P2P shuffles."""

    start: float
    stop: float
    """what of the window was recorded"""
    total: TransferSums
    unknown_senders: float
    """transfers whose sender isn't known, nor, of stock clusters, their bytes"""
    places: list[TransferPlace]
    cells: list[TransferCell]
    largest: list[LargeTransfer]
    """at most fifty, the largest first"""
    steals: list[StealCount]
    """at most two hundred, the most frequent first"""
    outcomes: dict[str, int]
    """of all requests to steal"""
    shuffles: list[ShuffleProgress]
