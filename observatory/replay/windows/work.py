"""What the workers of a large window computed, from tiles instead of all spans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.tiles.builder import covering_tile_ids, get_tile
from observatory.replay.tiles.each_worker import SHIFT
from observatory.replay.tiles.layers import Layer
from observatory.replay.windows.stragglers import fence_of
from observatory.store.blocks.timeline_blocks import decode_array
from observatory.store.queries.windows.outliers import Computing
from observatory.wire.blocks import decode
from observatory.wire.layers import SPANS
from observatory.wire.timeline_blocks import WORKER_BUSY

MOST_PLACES = 40
"""where a long task is looked for"""
ROUNDING = 1.01
"""more than the numbers of tiles are rounded by"""

Rows = dict[str, npt.NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Place:
    """The bin of a worker with a long task. `start` and `stop` are in microseconds."""

    worker: int
    prefix: int
    start: int
    stop: int
    longest: float
    usual: float
    """median of the prefix, in seconds"""


@dataclass(frozen=True, slots=True)
class Work:
    rows: Rows
    """columns of `worker-busy`, with `start`, `width` (microseconds) and the prefix' median `usual`"""

    @property
    def computing(self) -> list[Computing]:
        """How long each worker computed the prefixes that took it longest, by bin."""
        expected = self.rows["tasks"] * self.rows["usual"]
        return [
            Computing(worker, seconds, usual)
            for worker, (seconds, usual) in self._sums(self.rows["seconds"], expected).items()
        ]

    def longest(self, ratio: float, excess: float, fewest: int) -> Iterator[Place]:
        """Yield bins whose longest task takes `ratio` times its prefix' median and `excess` seconds more.

        And is beyond the fence of its prefix, by the quartiles of the bins' means.
        Those that are longest beyond the median come first. Prefixes with less than `fewest` tasks are left
        out.
        """
        rows = self.rows
        prefixes, at = np.unique(rows["prefix"], return_inverse=True)
        enough = np.bincount(at, rows["tasks"], len(prefixes))[at] >= fewest
        beyond = rows["longest"] - rows["usual"]
        is_long = enough & (rows["usual"] > 0) & (beyond >= np.maximum((ratio - 1) * rows["usual"], excess))
        is_long &= rows["longest"] > fence_of(_quantile(rows, 0.25), _quantile(rows, 0.75))
        order = np.argsort(-np.where(is_long, beyond, -np.inf), kind="stable")[:MOST_PLACES]
        for row in order[is_long[order]].tolist():
            start, width = int(rows["start"][row]), int(rows["width"][row])
            longest, usual = float(rows["longest"][row]) * ROUNDING, float(rows["usual"][row])
            worker, prefix = int(rows["worker"][row]), int(rows["prefix"][row])
            yield Place(worker, prefix, start, start + width, longest, usual)

    def _sums(self, *columns: npt.NDArray[np.float64]) -> dict[int, tuple[float, ...]]:
        workers, at = np.unique(self.rows["worker"], return_inverse=True)
        sums = [np.bincount(at, column, len(workers)).tolist() for column in columns]
        return dict(zip(workers.astype(int).tolist(), zip(*sums, strict=True), strict=True))


def work_of_tiles(connection: psycopg.Connection, scope: Scope, start: int, stop: int) -> Work:
    """Read the work in [start, stop) (microseconds) from a few tiles. Their bins are not divided."""
    names = [column.name for column in WORKER_BUSY.columns]
    parts: list[Rows] = []
    for tile_id in covering_tile_ids(start / 1e6, (stop - 1) / 1e6):
        body = get_tile(connection, scope, Layer(SPANS, None, is_each=True), tile_id).body
        for block in decode(body):
            if block.kind == WORKER_BUSY.name and block.rows:
                rows = {name: decode_array(block, name) for name in names}
                width = tile_id.bin_width << SHIFT
                rows["start"] = tile_id.start + rows["bin"] * width
                rows["width"] = np.full(block.rows, width)
                middle = rows["start"] + width // 2
                inside = (middle >= start) & (middle < stop)
                parts.append({name: column[inside] for name, column in rows.items()})
    names += ["start", "width"]
    joined = {name: np.concatenate([part[name] for part in parts] or [np.zeros(0)]) for name in names}
    return Work({**joined, "usual": _quantile(joined, 0.5)})


def _quantile(rows: Rows, share: float) -> npt.NDArray[np.float64]:
    """Return a quantile of each row's prefix: of the bins' means, weighted by their tasks."""
    found = np.zeros(len(rows["prefix"]))
    mean = rows["seconds"] / np.maximum(rows["tasks"], 1e-9)
    for prefix in np.unique(rows["prefix"]):
        of_prefix = np.flatnonzero((rows["prefix"] == prefix) & (rows["tasks"] > 0))
        if len(of_prefix):
            order = of_prefix[np.argsort(mean[of_prefix])]
            reached = np.cumsum(rows["tasks"][order])
            found[rows["prefix"] == prefix] = mean[order[np.searchsorted(reached, reached[-1] * share)]]
    return found
