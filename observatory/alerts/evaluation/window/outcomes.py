"""The outcome of a rule for one subject over a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt


class Truth(IntEnum):
    """Three-valued: the minimum of several conditions is their conjunction."""

    FALSE = 0
    UNCHANGED = 1
    """between the threshold and the clear threshold, or without data where the rule says "keep" """
    TRUE = 2


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """What an alert is about: a worker, a series, or the cluster (no worker and no labels).

    Subjects are equal if worker and labels are equal. The label `worker` (the worker's name) is ignored: the
    name can become known after the worker.
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
class Outcome:
    """A step function: `truths[i]` from `times[i]` up to `times[i + 1]`, or the end of the window."""

    subject: Subject
    times: npt.NDArray[np.float64]
    """seconds, strictly increasing; the first is the start of the window"""
    truths: npt.NDArray[np.int8]
    values: npt.NDArray[np.float64]
    """of the first condition; nan: no data"""
    texts: Sequence[str]
    """one for each time: the event's message, for conditions on events"""
