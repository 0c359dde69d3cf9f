"""How many modules a worker imported lately."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Iterator

import pytest

from observatory.agent.worker.event_loop import HELD
from observatory.agent.worker.modules import ImportedModules


@pytest.fixture
def names() -> Iterator[list[str]]:
    made: list[str] = []
    yield made
    for name in made:
        sys.modules.pop(name, None)


def imported(names: list[str], count: int) -> None:
    for _ in range(count):
        names.append(f"module_{len(names)}_of_a_test")
        sys.modules[names[-1]] = types.ModuleType(names[-1])


def test_what_was_imported_since_the_last_heartbeat_is_reported(names: list[str]) -> None:
    modules = ImportedModules()
    imported(names, 30)
    assert modules(None) >= 30


def test_it_is_reported_for_as_long_as_the_scheduler_may_not_have_seen_it(names: list[str]) -> None:
    """Of several heartbeats between two samples of the scheduler the last one is seen."""
    modules = ImportedModules()
    imported(names, 30)
    first = modules(None)
    assert modules(None) >= first
    time.sleep(HELD + 0.1)
    modules(None)
    assert modules(None) < 30


def test_after_a_blocked_event_loop_all_of_it_is_reported(names: list[str]) -> None:
    modules = ImportedModules()
    modules(None)
    time.sleep(HELD + 0.1)
    imported(names, 40)
    assert modules(None) >= 40
