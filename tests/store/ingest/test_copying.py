"""Batches of more rows than one message of COPY has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.copying import PART_ROWS
from observatory.store.ingest.writer import Writer
from observatory.store.keys import decode_key

Rows = Callable[..., list[tuple[Any, ...]]]

KEYS = """SELECT key_rest, task_group.name FROM {} AS record JOIN task_group ON task_group.id = group_id
          WHERE record.cluster_id = %s ORDER BY {}"""


@pytest.mark.parametrize("count", [PART_ROWS - 1, PART_ROWS, 2 * PART_ROWS + 1])
def test_each_row_keeps_its_own_key(
    count: int, writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    groups = [f"größe-{index % 2}" for index in range(count)]
    keys = [f"('{group}', {index})" for index, group in enumerate(groups)]
    spans = [
        make.span(now + index / 8, key=key, group=group, nbytes=index)
        for index, (key, group) in enumerate(zip(keys, groups, strict=True))
    ]
    committed = writer.write(Batch.of(cluster, spans=spans))
    assert [decode_key(*row) for row in rows(KEYS.format("span", "nbytes"), cluster)] == keys
    assert committed.spans is not None
    assert committed.spans.key.per_row() == keys


def test_rows_that_share_keys_keep_them(writer: Writer, rows: Rows, cluster: int, now: float) -> None:
    keys = [f"('inc-0a1b', {index % 7})" for index in range(2 * PART_ROWS + 1)]
    changes = [(now + index / 8, key, "waiting", "processing", "", "") for index, key in enumerate(keys)]
    logs = [
        (now + index / 8, "worker", "", 20, "distributed", f"line {index}", "", 1)
        for index in range(PART_ROWS + 1)
    ]
    writer.write(Batch.of(cluster, rows={"transition": changes, "log": logs}))
    assert [decode_key(*row) for row in rows(KEYS.format("transition", "time"), cluster)] == keys
    stored = rows("SELECT message FROM log WHERE cluster_id = %s ORDER BY time", cluster)
    assert stored == [(f"line {index}",) for index in range(PART_ROWS + 1)]
