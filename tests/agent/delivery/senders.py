"""Senders to a server that may fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.delivery.sender import Sender
from tests.agent.batches import CLUSTER, configuration
from tests.agent.faulty_server import FaultyServer, faulty_server


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with faulty_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("observatory.agent.delivery.sender.SHORTEST_RETRY", 0.02)
    monkeypatch.setattr("observatory.agent.delivery.sender.LONGEST_RETRY", 0.1)
    monkeypatch.setattr("observatory.agent.delivery.sender.FORBIDDEN_RETRY", 0.1)


def sender_to(server: FaultyServer, folder: Path, buffer: Buffer | None = None, **given: Any) -> Sender:
    sender = Sender(configuration(server.url, folder, **given), CLUSTER, buffer or Buffer())
    sender.start()
    return sender


def keys(server: FaultyServer) -> list[int]:
    return [int(row["key"].removeprefix("inc-"), 16) for row in server.received.rows["transition"]]
