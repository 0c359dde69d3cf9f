"""Tasks that were sent before a window, and hang in it or were cancelled, as a real cluster's agent tells."""

from __future__ import annotations

import time
from typing import Any

import pytest
from distributed import Client, wait

from observatory.clusters.models import Cluster
from observatory.clusters.tokens import ingest_tokens
from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.why.findings.answer import findings
from observatory.why.thread_times.answer import thread_times
from observatory.why.window import readable_part
from tests.support.agent_batches import store_batches
from tests.support.projects import World, world
from tests.why.consistency import contradictions
from tests.why.findings.test_scenarios import bodies_of

__all__ = ["world"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

KEPT = 12.0
"""seconds that a cancelled function takes"""
LATER: dict[str, tuple[float, float]] = {}
"""the windows, by name of a cluster"""


def work_beside_cancelled_tasks(client: Client) -> None:
    """Two of four threads still have tasks that were cancelled."""
    held = client.map(time.sleep, [KEPT, KEPT + 0.1], key="held")
    time.sleep(2)
    client.cancel(held)
    time.sleep(1)
    start = time.time()
    wait(client.map(time.sleep, [0.5 + place / 1000 for place in range(12)], key="later"))
    LATER["cancelled"] = start, time.time()
    time.sleep(KEPT)


def work_beside_hung_tasks(client: Client) -> None:
    """The client releases them, and then the cluster closes."""
    held = client.map(time.sleep, [60, 61], key="held")
    time.sleep(2)
    start = time.time()
    wait(client.map(time.sleep, [0.5 + place / 1000 for place in range(12)], key="later"))
    time.sleep(2)
    LATER["hung"] = start, time.time()
    LATER["given up"] = start, time.time() + 60  # until the cluster's end
    del held


@pytest.mark.parametrize(
    ("name", "work", "says"),
    [
        ("cancelled", work_beside_cancelled_tasks, "kept their threads"),
        ("hung", work_beside_hung_tasks, "did not finish"),
        ("given up", work_beside_hung_tasks, "were cancelled"),
    ],
)
def test_a_later_window_names_the_tasks_that_have_its_threads(
    world: World, name: str, work: Any, says: str
) -> None:
    _, secret = ingest_tokens.make(world.alpha, "tests", None)
    options = {"n_workers": 2, "threads_per_worker": 2}
    store_batches(bodies_of(name, work, options, is_computing=False), secret)
    scope = Scope(Cluster.objects.get(name=name))
    with read_connection() as connection:
        start, stop = readable_part(connection, scope, *(round(at * 1e6) for at in LATER[name]))
        found = findings(connection, scope, start, stop)["findings"]
        times = thread_times(connection, scope, start, stop)
        assert contradictions(connection, scope, start, stop) == []
    until = LATER["hung"][1] if name == "given up" else 0.0
    [sentence] = [one["sentence"] for one in found if one["kind"] == "unfinished"]
    assert says in sentence
    assert "held" in sentence
    taken = {one["kind"]: one["seconds"] for one in times["kinds"]}
    seconds = (min(stop / 1e6, until) - start / 1e6) if until else (stop - start) / 1e6
    # two of four threads are theirs all the time, which is known to a heartbeat or two
    assert taken["unfinished"] == pytest.approx(2 * seconds, abs=3)
    assert taken["ready"] < 2
