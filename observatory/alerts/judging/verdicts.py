"""What a rule says of a subject over a window: a level at each instant, and the value that it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt


class Level(IntEnum):
    NOT = 0
    BETWEEN = 1
    """of threshold and clear threshold, or without data where that keeps it: it stays as it was"""
    HOLDS = 2


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """What there is one alert of: a worker, a series, the cluster (neither worker nor labels).

    Two are the same that have the same worker and the same labels; the worker's name, which is among them as
    `worker`, may be told late and doesn't count.
    """

    worker_id: int | None
    labels: Mapping[str, str]

    @property
    def identity(self) -> tuple[int | None, frozenset[tuple[str, str]]]:
        named = self.worker_id is not None
        own = ((name, value) for name, value in self.labels.items() if not (named and name == "worker"))
        return self.worker_id, frozenset(own)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Subject) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)


CLUSTER = Subject(None, {})


@dataclass(frozen=True, slots=True)
class Verdict:
    """A step function: `levels[i]` from `times[i]` until before `times[i + 1]`, or the window's stop."""

    subject: Subject
    times: npt.NDArray[np.float64]
    """seconds, strictly increasing; the first is the window's start"""
    levels: npt.NDArray[np.int8]
    values: npt.NDArray[np.float64]
    """of the first condition; nan: none"""
    texts: Sequence[str]
    """one a time: what happened, of an event's condition"""
