"""Encodes numpy columns as blocks of the timeline: the same for tiles and for live frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from observatory.store.queries.extents import Extent
from observatory.wire.blocks import Block
from observatory.wire.timeline_blocks import EXTENT, BlockKind

DTYPES = {"f64": "<f8", "f32": "<f4", "u32": "<u4", "i32": "<i4", "u8": "u1"}
"""numpy's types of the types of columns"""


def encode_block(kind: BlockKind, values: Mapping[str, Any], meta: Mapping[str, Any] | None = None) -> bytes:
    """Encode a block of a declared kind. Arrays are converted to the types of their columns."""
    types = {column.name: column.type for column in kind.columns}
    return kind.encode({name: _convert(column, types.get(name, "")) for name, column in values.items()}, meta)


def encode_rows(
    kind: BlockKind, rows: Iterable[Sequence[Any]], meta: Mapping[str, Any] | None = None
) -> bytes:
    """Encode a block of rows, whose values are in the order of the kind's columns."""
    columns = list(zip(*rows, strict=True)) or [()] * len(kind.columns)
    return kind.encode(
        {column.name: values for column, values in zip(kind.columns, columns, strict=True)}, meta
    )


def decode_array(block: Block, name: str) -> npt.NDArray[Any]:
    """Return a column of numbers as int64 or float64."""
    column = block.columns[name]
    values = np.frombuffer(column.data, DTYPES[column.type], block.rows)
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def extent_block(extent: Extent, status: Mapping[str, Any]) -> bytes:
    """Encode the extent of a cluster; `status` as for `extent_meta`."""
    return EXTENT.encode({}, extent_meta(extent, status))


def extent_meta(extent: Extent, status: Mapping[str, Any]) -> dict[str, Any]:
    """Return the meta of an `extent` block.

    `status` has what isn't known to the store: `ended` (seconds or None), `end_reason` and `stream`. What a
    live block leaves out is as before.
    """
    return {
        "committed": extent.committed,
        "first": extent.first,
        "last": extent.last,
        "version": extent.version,
        "sequence": extent.sequence,
        "task_count": extent.tasks,
        "error_count": extent.errors,
        "worker_count": extent.workers,
        **status,
    }


def _convert(values: Any, type: str) -> Any:
    return np.ascontiguousarray(values, DTYPES[type]) if isinstance(values, np.ndarray) else values
