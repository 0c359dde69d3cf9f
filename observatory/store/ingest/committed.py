"""What a committed batch added to the store: enough to tell open pages about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from observatory.store.queries.extents import Extent

Array = npt.NDArray[Any]
Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredSpans:
    """Spans as columns, in the types of their block. Times are seconds, nbytes bytes."""

    lane: npt.NDArray[np.uint32]
    prefix: npt.NDArray[np.uint32]
    action: npt.NDArray[np.uint8]
    status: npt.NDArray[np.uint8]
    start: npt.NDArray[np.float64]
    stop: npt.NDArray[np.float64]
    nbytes: npt.NDArray[np.float64]
    keys: Sequence[str]
    typenames: list[str]
    band: npt.NDArray[np.int64] | None
    """of the worker (wire/layers.py); None: all are of the first"""

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class LiveSample:
    """A sample of a metric that a layer draws."""

    series: int
    first: int
    """the first series of the cluster with the same metric and labels, whichever worker's"""
    band: int
    """of the worker (wire/layers.py)"""
    metric: str
    layer: str
    counter: bool
    time: float
    value: float
    previous_time: float
    previous_value: float
    """the sample before of the same series; nan when there was none"""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    time: float
    worker: int
    """-1: none"""
    kind: str
    message: str
    """shown to people"""
    detail: str
    """JSON"""


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """How often a stack was seen."""

    time: float
    worker: int
    """-1: the scheduler"""
    prefix: int
    """0: none"""
    source: int
    """0: task, 1: event loop"""
    stack: int
    count: int


@dataclass(frozen=True, slots=True)
class Committed:
    extent: Extent
    """after the batch"""
    already: bool = False
    """an agent's batch that was stored before: nothing is new"""
    agent_rules: bool = False
    """an agent reports of the cluster: what it tells isn't taken from scraping"""
    refused: int = 0
    """records whose times or numbers no table can hold"""
    workers: list[Item] = field(default_factory=list)
    """new or changed, as docs/architecture/http.md shows a worker; so are the next three, which are new"""
    lanes: list[Item] = field(default_factory=list)
    prefixes: list[Item] = field(default_factory=list)
    series: list[Item] = field(default_factory=list)
    """without their interval, which is the target's"""
    spans: StoredSpans | None = None
    samples: list[LiveSample] = field(default_factory=list)
    events: list[StoredEvent] = field(default_factory=list)
    profile: list[StoredProfile] = field(default_factory=list)
