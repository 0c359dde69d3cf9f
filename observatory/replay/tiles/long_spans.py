"""The spans of tiles that are long enough to be sent themselves, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from observatory.replay.tiles.bins import Integers
from observatory.store.blocks.timeline_blocks import decode_array, encode_block
from observatory.wire.blocks import Block
from observatory.wire.timeline_blocks import SPAN

TEXTS = tuple(column.name for column in SPAN.columns if column.type == "text")
NUMBERS = tuple(column.name for column in SPAN.columns if column.type != "text")


class LongSpans:
    """Spans by the columns of SPAN. `start` and `stop` (shape: rows) are their times in microseconds."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.columns: dict[str, npt.NDArray[Any]] = {
            **{name: np.concatenate([decode_array(block, name) for block in blocks]) for name in NUMBERS},
            **{name: np.concatenate([_texts(block, name) for block in blocks]) for name in TEXTS},
        }
        self.start, self.stop = (
            np.rint(self.columns[name] * 1e6).astype(np.int64) for name in ("start", "stop")
        )

    def encode(self, rows: Integers) -> bytes:
        """Encode these of the spans, sorted by start."""
        rows = rows[np.lexsort((self.columns["lane"][rows], self.start[rows]))]
        return encode_block(
            SPAN,
            {
                **{name: self.columns[name][rows] for name in NUMBERS},
                **{name: self.columns[name][rows].tolist() for name in TEXTS},
            },
        )


def _texts(block: Block, name: str) -> npt.NDArray[Any]:
    column = block.columns[name]
    indices = np.frombuffer(column.data, "<u4", block.rows)
    values: npt.NDArray[Any] = np.array(column.values or [], object)[indices]
    return values
