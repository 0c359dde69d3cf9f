"""Batches and settings for the tests of delivery."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from observatory.agent.configuration import Configuration, read_configuration
from observatory.agent.delivery.batch import AgentBatch, BatchPart, divide, make_batch
from observatory.agent.delivery.sender import ClusterInfo
from observatory.wire.head import Head
from observatory.wire.kind import Importance
from tests.agent.fake_server import TOKEN

AGENT = "ab" * 16
START = 1_700_000_000.0
CLUSTER = ClusterInfo("Scheduler-1", "a cluster", "tcp://10.0.0.1:8786", START, START)
KINDS_OF = {Importance.SAMPLES: "sample", Importance.TASKS: "transition", Importance.FAILURES: "error"}


def configuration(url: str, folder: Path, **given: Any) -> Configuration:
    settings = {"flush_interval": 0.05, "spool_directory": str(folder / "spool"), **given}
    return read_configuration(url=url, token=TOKEN, **settings)


def transition(number: int, moment: float | None = None) -> tuple[Any, ...]:
    moment = time.time() if moment is None else moment
    return (
        moment,
        f"inc-{number:032x}",
        "waiting",
        "processing",
        "tcp://10.0.0.2:4000",
        f"stimulus-{number}",
    )


def sample(number: int) -> tuple[Any, ...]:
    return (time.time(), float(number), '["metric",{},"",1]')


def head(sequence: int) -> Head:
    return Head(AGENT, sequence, "Scheduler-1", "a cluster", "tcp://10.0.0.1:8786", START, START, 0.0)


def real(sequence: int, rows: Mapping[str, list[tuple[Any, ...]]]) -> AgentBatch:
    """A batch of these rows."""
    dropped: list[tuple[Any, ...]] = []
    (pieces,) = list(divide(rows, dropped)) or [[]]
    return make_batch(head(sequence), pieces, dropped)


def sized(sequence: int, sizes: Mapping[Importance, int]) -> AgentBatch:
    """A batch with parts of these sizes in bytes, each with ten records of one kind."""
    moment = START + sequence
    return AgentBatch(
        head(sequence),
        {
            importance: BatchPart(
                bytes([sequence % 256]) * size, {KINDS_OF[importance]: (10, moment, moment + 1)}
            )
            for importance, size in sizes.items()
        },
    )
