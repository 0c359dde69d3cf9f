"""What a committed batch added to the store, as columns: enough to update open pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from observatory.store.ingest.batches.record_columns import Array, Coded
from observatory.store.queries.extents import Extent

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredSpans:
    """Spans in the types of their block. Times are seconds, nbytes bytes."""

    lane: npt.NDArray[np.uint32]
    prefix: npt.NDArray[np.uint32]
    action: npt.NDArray[np.uint8]
    status: npt.NDArray[np.uint8]
    start: npt.NDArray[np.float64]
    stop: npt.NDArray[np.float64]
    nbytes: npt.NDArray[np.float64]
    key: Coded
    typename: Coded
    band: Array
    """of the worker (wire/layers.py)"""

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True)
class LiveSamples:
    """Samples of metrics that a layer draws."""

    series: Array
    first: Array
    """the first series of the cluster with the same metric and labels, of any worker"""
    band: Array
    """of the worker (wire/layers.py)"""
    metric: Coded
    layer: Coded
    counter: npt.NDArray[np.bool_]
    time: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]
    previous_time: npt.NDArray[np.float64]
    previous_value: npt.NDArray[np.float64]
    """the sample before of the same series; nan where there was none"""

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, slots=True)
class StoredEvents:
    time: npt.NDArray[np.float64]
    worker: npt.NDArray[np.int32]
    """-1: none"""
    kind: Coded
    message: Coded
    """shown to people"""
    detail: Coded
    """JSON"""

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, slots=True)
class StoredProfiles:
    """The number of samples of stacks."""

    time: npt.NDArray[np.float64]
    worker: npt.NDArray[np.int32]
    """-1: the scheduler"""
    prefix: npt.NDArray[np.uint32]
    """0: none"""
    source: npt.NDArray[np.uint8]
    """0: task, 1: event loop"""
    stack: npt.NDArray[np.uint32]
    count: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, slots=True)
class Committed:
    extent: Extent
    """after the batch"""
    already: bool = False
    """an agent's batch that was stored before: nothing is new"""
    agent_rules: bool = False
    """an agent reports of the cluster: what it reports is left out of scraped batches"""
    refused: int = 0
    """records with times or numbers that no table can hold, or beyond the limit of its source"""
    reasons: Sequence[str] = ()
    """why records that tables could hold were refused, or names stored as others: parts of sentences"""
    dropped: Counter[str] = field(default_factory=Counter)
    """records that the database refused, by kind"""
    workers: list[Item] = field(default_factory=list)
    """new or changed, as docs/architecture/http.md shows a worker; the next three are new"""
    lanes: list[Item] = field(default_factory=list)
    prefixes: list[Item] = field(default_factory=list)
    series: list[Item] = field(default_factory=list)
    """without their interval, which is the target's"""
    spans: StoredSpans | None = None
    samples: LiveSamples | None = None
    events: StoredEvents | None = None
    profiles: StoredProfiles | None = None
