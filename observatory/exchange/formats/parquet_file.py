"""Writes the records of one kind to a Parquet file."""

from __future__ import annotations

import json
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from observatory.exchange.formats.base import Progress
from observatory.exchange.records.exported_records import Reader, Shown
from observatory.wire.columns import ValueType

TYPES = {
    ValueType.TIME: pa.timestamp("us", "UTC"),
    ValueType.INTEGER: pa.int64(),
    ValueType.REAL: pa.float64(),
    ValueType.TEXT: pa.string(),
    ValueType.JSON: pa.string(),
}
ROWS_OF_A_GROUP = 100_000


def write_parquet(title: str, source: Reader, kind: Shown, file: IO[bytes], progress: Progress) -> None:
    schema = pa.schema(
        [(name, TYPES[type]) for name, type in kind.types.items()],
        metadata={"observatory": json.dumps({"run": title, "kind": kind.kind.name})},
    )
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        waiting: list[pa.RecordBatch] = []
        for rows in source.rows(kind, progress):
            columns = list(zip(*rows, strict=True))[1:]
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            waiting.append(pa.record_batch(arrays, schema=schema))
            if sum(batch.num_rows for batch in waiting) >= ROWS_OF_A_GROUP:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting.clear()
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))
