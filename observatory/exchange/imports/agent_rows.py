"""Stores the contents of a dump or a list as if an agent had sent them: rows of the kinds in wire/kinds/.

They are validated, cleaned and stored like an agent's batch, in one transaction.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from django.db import transaction

from observatory.collect.agents.batch import batch_of
from observatory.exchange.bundles.manifest import ClusterFacts, RunFacts
from observatory.exchange.imports.allowance import Allowance
from observatory.exchange.imports.destination import Destination, make_run
from observatory.exchange.imports.refusal import Refused
from observatory.runs.models import Run
from observatory.store.blocks.block_size import MAXIMUM_CONTAINERS
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.keys import split_as_dask
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.queries.extents import SETTLING
from observatory.wire.batches import BatchError, encode_rows
from observatory.wire.blocks import decode
from observatory.wire.dropped_records import MISSING
from observatory.wire.head import Head
from observatory.wire.kinds import KINDS
from observatory.wire.records import is_time

MAXIMUM_PARTITIONS = 400
"""days with records, summed over the kinds"""
DAY = 86_400
"""seconds"""
Report = Callable[[str], object]
AFTER = 1.0
"""seconds that a run lasts beyond its last record, so that it includes the last state"""


class AgentRows:
    """Rows by kind, and sentences on what the file doesn't tell."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self.rows: dict[str, list[tuple[Any, ...]]] = {}
        self.remarks: list[str] = []

    def add(self, kind: str, *row: Any) -> None:
        """In the order of the kind's fields. Raises Refused if there are too many rows."""
        self._allowance.take("rows", 1)
        self.rows.setdefault(kind, []).append(row)

    def times(self, *kinds: str) -> list[float]:
        """The valid times of the rows of the kinds, including their ends."""
        found: list[float] = []
        for kind in kinds:
            names = KINDS[kind].names
            for name in ("time", "start", "stop"):
                if name in names and KINDS[kind].fields[names.index(name)].type.label == "time":
                    found += [row[names.index(name)] for row in self.rows.get(kind, ())]
        return [time for time in found if is_time(time)]


def store(
    rows: AgentRows,
    digest: str,
    run: RunFacts,
    cluster: ClusterFacts,
    destination: Destination,
    report: Report,
) -> Run:
    """Makes the cluster and its run, and stores the rows. Raises Refused, and psycopg.Error.

    Calls `report` with sentences on what the file doesn't tell, and on rows that were left out.
    """
    head = Head(
        agent=uuid.uuid4().hex,
        sequence=1,
        scheduler_id=cluster.scheduler_id,
        name=cluster.name,
        address=cluster.address,
        started=cluster.started,
        since=min(cluster.started, run.start),
        committed=run.stop + 2 * SETTLING,
        is_last=True,
    )
    try:
        blocks = {
            kind: next(decode(encode_rows(KINDS[kind], some, split_as_dask)))
            for kind, some in rows.rows.items()
        }
    except (TypeError, OverflowError, ValueError) as error:
        raise Refused(f"It has values that its kind cannot have: {str(error)[:200]}.") from None
    made: Run | None = None
    try:
        with transaction.atomic(), Writer() as writer:
            made = make_run(destination, digest, run, cluster, [])
            batch, refused = batch_of(made.cluster_id, head, blocks)
            _check_days(batch)
            refused += writer.write(batch).refused
        sentences = [*rows.remarks, *([_left_out(rows, batch, refused)] if refused else [])]
        if sentences:
            report(" ".join(sentences))
        return made
    except BatchError as error:
        raise Refused(f"{error}.") from None
    except BaseException:
        if made is not None:
            delete_cluster(made.cluster_id)
        raise


def _check_days(batch: Batch) -> None:
    """Raises Refused for too many days: each table has a partition a day."""
    partitions = sum(len(np.unique(records.times // DAY)) for records in batch.records.values())
    if partitions > MAXIMUM_PARTITIONS:
        raise Refused(f"Its records lie on too many days: they need {partitions} partitions.")


def _left_out(rows: AgentRows, batch: Batch, count: int) -> str:
    """Says how many rows were left out, of which kinds and why."""
    stored = {kind: len(some) for kind, some in batch.records.items()}
    stored |= {"worker": len(batch.workers), "gone": len(batch.gone), "run": len(batch.runs)}
    left = {kind: len(some) - stored.get(kind, 0) for kind, some in rows.rows.items()}
    named = ", ".join(f"{left[kind]:,} {MISSING[kind].records}" for kind in sorted(left) if left[kind] > 0)
    return (
        f"{count:,} records of the file were left out{f' ({named})' if named else ''}: "
        "they are not valid, or a column of their kind has more than "
        f"{MAXIMUM_CONTAINERS:,} JSON objects and lists."
    )


def as_text(value: Any) -> str:
    """A value of any type as text; "" for anything but texts and numbers."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def as_mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_number(value: Any) -> float:
    """A finite number; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) else 0.0


def as_count(value: Any) -> int:
    """A number within the limits of a count."""
    return int(min(max(as_number(value), 0), 2**32 - 1))


def as_json(value: Any) -> str:
    """JSON of an object or a list; of {} for anything else."""
    return json.dumps(value if isinstance(value, dict | list) else {}, default=str, skipkeys=True)
