"""The spans of an HTML report that contains each of them: the page makes tiles of any level from them."""

from __future__ import annotations

import numpy as np
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.tiles.layers import Layer
from observatory.store.blocks.timeline_blocks import encode_block
from observatory.store.connection import read_connection
from observatory.store.queries import timeline
from observatory.wire.blocks import text_column
from observatory.wire.layers import SPANS
from observatory.wire.timeline_blocks import PACKED_SPAN

MOST_TASKS, MOST_SPANS = 50_000, 200_000
"""computations, and spans of all actions, of a run whose file contains each of them"""


def pack_spans(scope: Scope, layers: list[Layer]) -> bytes | None:
    """Return all spans of a scope as a block for each band; None if there are too many."""
    with read_connection() as connection, timeline.snapshot(connection):
        counted = timeline.count_spans(connection, scope.cluster.pk, *scope.window)
        if counted.computations > MOST_TASKS or counted.all > MOST_SPANS:
            return None
        bands = [layer for layer in layers if layer.name == SPANS and not layer.is_each]
        return b"".join(_band(connection, scope, layer) for layer in bands)


def _band(connection: psycopg.Connection, scope: Scope, layer: Layer) -> bytes:
    lanes = timeline.lanes_of_band(connection, scope.cluster.pk, layer.band or 0)
    rows = timeline.long_spans(connection, scope.cluster.pk, *scope.window, 0, lanes)
    rows.sort(key=lambda row: (row[0], row[4]))
    values = list(zip(*rows, strict=True)) or [()] * 9
    lane, prefix, action, status, _, _, nbytes, key, typename = values
    start, stop = (np.clip(np.rint(np.array(times) * 1e6), *scope.window) for times in values[4:6])
    columns = {
        "lane": lane,
        "prefix": prefix,
        "action": action,
        "status": status,
        "gap": start - np.concatenate([[0.0], stop[:-1]])[: len(start)],
        "duration": stop - start,
        "nbytes": nbytes,
        "key": text_column("key", map(scope.text, key)),
        "typename": text_column("typename", map(scope.text, typename)),
    }
    return encode_block(PACKED_SPAN, columns, {"layer": str(layer)})
