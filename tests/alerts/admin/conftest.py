from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from observatory.store.times import from_seconds
from tests.alerts.setup import Setups, set_up_alerts
from tests.pages.conftest import complaints, context, page, recorded
from tests.support.projects import World, world
from tests.support.recorded_cluster import START, Recorded

__all__ = ["complaints", "context", "page", "recorded", "world"]

FULL, EMPTY = 3.6, 1.0
"""GiB of a worker that has 4"""


@pytest.fixture
def flapping(memory: Recorded) -> Recorded:
    """A third worker goes above 3 GiB for 10 s of each 20 s, and down to 2.6 GiB."""
    memory.worker(
        "tcp://10.0.0.1:3",
        "unsteady",
        memory={float(time): 3.2 if time % 20 < 10 else 2.6 for time in range(0, 300, 2)},
    )
    return memory


@pytest.fixture
def memory(recorded: Recorded, world: World) -> Recorded:
    """The cluster that ended had two workers for five minutes; one was full in the third of them."""
    started = from_seconds(START - 100)
    world.ended.started, world.ended.ended = started, started + timedelta(seconds=500)
    world.ended.last_seen = world.ended.ended
    world.ended.save()
    times = [float(time) for time in range(0, 300, 2)]
    full = {time: FULL if 120 <= time < 180 else EMPTY for time in times}
    recorded.worker("tcp://10.0.0.1:1", "full", memory=full)
    recorded.worker("tcp://10.0.0.1:2", "empty", memory=dict.fromkeys(times, EMPTY))
    return recorded


@pytest.fixture
def setups(world: World) -> Setups:
    return set_up_alerts(world)


@pytest.fixture
def owner(world: World) -> Client:
    return world.client("owner")
