"""The state at any instant of a real cluster is what a plugin of its scheduler wrote down."""

from __future__ import annotations

import json
import tempfile
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from django.db import connection as django_connection

from observatory.clusters.models import Cluster
from observatory.clusters.tokens import ingest_tokens
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.runs.discovery.discover import discover_runs
from observatory.runs.models import Run, RunDiscovery
from observatory.store.maintenance import keyframes
from observatory.store.maintenance.keyframes import make_keyframes
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.queries.extents import SETTLING, read_extent
from observatory.store.queries.timeline import snapshot
from observatory.wire.records import UNFINISHED_STATES
from tests.agent.fake_server import TOKEN, fake_server
from tests.replay.many_states import recorded
from tests.support.agent_batches import store_batches
from tests.support.projects import World, world
from tests.support.shared_recordings import made_once

__all__ = ["world"]

ROUNDING = 2e-6
"""seconds, of times in the store"""
INSTANTS = 60
KEPT = ("memory", "erred", "released")


@dataclass
class Recording:
    bodies: list[bytes]
    lines: list[tuple[float, str, str, str, str]]
    """time, key, prefix, start, finish"""
    windows: list[tuple[float, float]]
    noted: list[float]
    """when the agent noted the same transitions: both plugins are called one after the other"""

    @property
    def times(self) -> list[float]:
        return [line[0] for line in self.lines]

    def instants(self, start: float, stop: float, count: int = INSTANTS) -> list[float]:
        """Instants at random, but none between the times that both plugins noted of a transition."""
        assert len(self.noted) == len(self.lines)
        random, found = Random(7), []
        while len(found) < count:
            at = random.uniform(start, stop)
            places = {bisect_right(self.noted, at + error) for error in (-ROUNDING, ROUNDING)}
            if places == {bisect_right(self.times, at)}:
                found.append(at)
        return found

    def expected(self, at: float, since: float = 0.0) -> tuple[dict[str, Any], Counter[str]]:
        """Progress by prefix, and tasks by state, from the lines alone."""
        rows: dict[str, Counter[str]] = defaultdict(Counter)
        now: dict[str, tuple[str, str]] = {}
        begun: set[str] = set()
        ended: dict[str, str] = {}
        for time, key, prefix, start, finish in self.lines:
            if time > at:
                break
            now[key] = (prefix, finish)
            if start in UNFINISHED_STATES and time <= since:
                begun.discard(key)
            if finish in UNFINISHED_STATES or (time > since and start in UNFINISHED_STATES):
                begun.add(key)
            if finish in UNFINISHED_STATES and key in ended:  # it is to be computed again
                rows[prefix][ended.pop(key)] -= 1
            if time > since and (finish == "erred" or (finish == "memory" and start in UNFINISHED_STATES)):
                ended[key] = "done" if finish == "memory" else "erred"
                rows[prefix][ended[key]] += 1
            if finish == "forgotten":
                ended.pop(key, None)
        states: Counter[str] = Counter()
        for key, (prefix, state) in now.items():
            if state in UNFINISHED_STATES:
                rows[prefix][state] += 1
                states[state] += 1
            elif key in begun and state != "forgotten":
                states[state] += 1
        return {name: row for name, row in rows.items() if row.total()}, states


def _record() -> Recording:
    with tempfile.TemporaryDirectory() as folder, fake_server() as received:
        with recorded(received.url, TOKEN, Path(folder)) as windows:
            pass
        lines = [json.loads(line) for line in (Path(folder) / "transitions.jsonl").open()]
        noted = [row["time"] for row in received.rows["transition"]]
        return Recording(received.bodies, lines, windows, noted)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return made_once("many-states", _record)


def _store(recording: Recording, secret: str) -> None:
    store_batches(recording.bodies, secret)
    django_connection.close()


@pytest.fixture
def stored(transactional_db: None, world: World, recording: Recording) -> Iterator[Cluster]:
    _, secret = ingest_tokens.make(world.alpha, "tests", None)
    with ThreadPoolExecutor(1) as thread:
        thread.submit(_store, recording, secret).result()
    cluster = Cluster.objects.get(name="states")
    yield cluster
    delete_cluster(cluster.pk)


def found(
    connection: psycopg.Connection, scope: Scope, at: float
) -> tuple[dict[str, Any], Counter[str], dict[str, Any]]:
    with snapshot(connection):
        state = state_at(connection, scope, round(at * 1e6))
    rows = {
        row["name"]: Counter({"done": row["done"], "erred": row["erred"], **row["states"]})
        for row in state["progress"]
    }
    for row in state["progress"]:
        assert row["total"] == row["done"] + row["erred"] + sum(row["states"].values())
    return {name: row for name, row in rows.items() if row.total()}, Counter(state["tasks"]), state


@pytest.mark.parametrize("has_keyframes", [False, True], ids=["from rows", "with keyframes"])
def test_the_state_of_a_cluster_at_any_instant_is_what_a_plugin_of_its_scheduler_saw(
    stored: Cluster,
    recording: Recording,
    direct: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    has_keyframes: bool,
) -> None:
    extent = read_extent(direct, stored.pk)
    assert extent is not None
    if has_keyframes:
        monkeypatch.setattr(keyframes, "MANY_RECORDS", 50)
        monkeypatch.setattr(keyframes, "RECORDS_A_PREFIX", 1)
        assert make_keyframes(direct, extent, round((extent.committed + SETTLING) * 1e6)) > 3
    first, last = recording.times[0], recording.times[-1]
    for at in [*recording.instants(first, last), last + 0.01, last + 3600]:
        rows, tasks, state = found(direct, Scope(stored), at)
        expected, states = recording.expected(at)
        assert rows == expected, at
        assert {name: tasks[name] for name in (*UNFINISHED_STATES, *KEPT)} == {
            name: states[name] for name in (*UNFINISHED_STATES, *KEPT)
        }, at
        assert state["progress_at"] is None
        assert state["tasks_at"] == pytest.approx(min(at, extent.last), abs=1e-5)


@pytest.mark.parametrize("window", [0, 1, 2], ids=["first", "second", "beside another client"])
def test_the_state_of_a_run_has_its_own_tasks_alone(
    stored: Cluster, recording: Recording, direct: psycopg.Connection, window: int
) -> None:
    start, stop = recording.windows[window]
    scope = Scope(stored, round(start * 1e6), round(stop * 1e6))
    for at in [*recording.instants(start, stop, 30), stop]:
        rows, tasks, _ = found(direct, scope, at)
        expected, states = recording.expected(at, start)
        assert rows == expected, at
        assert +tasks == +states, at
    if window == 0:
        assert not any(tasks[state] for state in UNFINISHED_STATES), "all had finished at its end"


def test_at_the_end_of_a_run_that_was_found_no_task_is_processing_that_had_finished(
    stored: Cluster, recording: Recording, direct: psycopg.Connection
) -> None:
    extent = read_extent(direct, stored.pk)
    assert extent is not None
    discovery, _ = RunDiscovery.objects.get_or_create(cluster=stored)
    discover_runs(direct, stored, discovery, extent)
    found_runs = list(stored.runs.filter(origin=Run.Origin.FOUND))
    assert found_runs
    for run in found_runs:
        assert run.stop is not None
        scope = Scope(stored, round(run.start.timestamp() * 1e6), round(run.stop.timestamp() * 1e6))
        _, tasks, _ = found(direct, scope, run.stop.timestamp())
        assert not any(tasks[state] for state in UNFINISHED_STATES)
