"""The graph of a window's groups and tasks is what its transitions, spans and dependencies say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.pseudonyms import read_pseudonyms
from observatory.replay.scope import Scope
from observatory.replay.tasks import build_cluster
from observatory.replay.windows import group_graph, task_graph
from observatory.replay.windows import sums as window_sums
from observatory.replay.windows.graph_schemas import GroupGraph, TaskGraph
from observatory.replay.windows.group_graph import group_graph_of
from observatory.replay.windows.task_graph import task_graph_of
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.timeline import snapshot
from observatory.wire.records import TASK_STATES, Action, Span, WorkerSeen
from tests.replay.committed import direct
from tests.replay.conftest import CLOSED, make_cluster
from tests.support.response_schemas import assert_documented

__all__ = ["direct"]

WORKER = "tcp://10.0.0.1:1"
SECONDS = 300
GROUPS = ("load-1", "inc-1", "inc-2", f"<img src=x onerror=alert(1)>-{WORKER}")
TASKS = 60
"""of each group"""

Change = tuple[float, str, str, str, str, str]
"""as in kind `transition`"""


def life(key: str, begin: float, random: Random) -> Iterator[Change]:
    """A task's transitions: most are computed and forgotten, some err, some stay."""
    time = round(begin, 6)
    path = ["released", "waiting", "processing", random.choice(("memory", "memory", "erred"))]
    path += random.choice(([], ["released"], ["released", "forgotten"]))
    for step, (start, finish) in enumerate(pairwise(path)):
        yield time, key, start, finish, "", f"{'task-finished' if step else 'update-graph'}-{begin}"
        time = round(time + random.uniform(0.001, 40), 6)


@pytest.fixture(scope="module")
def changes(now: float) -> list[Change]:
    random = Random(17)
    made = [
        change
        for group in GROUPS
        for number in range(TASKS)
        for change in life(f"('{group}', {number})", now + random.uniform(0, 120), random)
    ]
    return sorted(made)


@pytest.fixture(scope="module")
def cluster(committed: None, now: float, changes: list[Change]) -> Cluster:
    cluster = make_cluster(now, "Scheduler-graph")
    spans = [
        Span(WORKER, 1, key, *names(key), Action.COMPUTE, time, time + 0.5, 10, "int")
        for time, key, _, finish, *_ in changes
        if finish == "processing"
    ]
    edges = [
        (now, "c1", f"('{GROUPS[1]}', {number})", f"('{GROUPS[0]}', {number})") for number in range(TASKS)
    ]
    rows: dict[str, list[tuple[Any, ...]]] = {
        "transition": list(changes),
        "dependency": edges,
        "group_dependency": [
            (now, "c1", GROUPS[1], GROUPS[0], 40),
            (now, "c2", GROUPS[1], GROUPS[0], 20),
            (now, "c1", GROUPS[3], GROUPS[1], 5),
            (now + SECONDS + 50, "c3", GROUPS[3], GROUPS[2], 1),
        ],
    }
    with Writer() as writer:
        seen = [WorkerSeen(WORKER, "", "h", 2, 1000, now)]
        writer.write(Batch.of(cluster.pk, seen, spans, committed=now + SECONDS, rows=rows))
        writer.write(Batch.of(cluster.pk, committed=now + CLOSED))
    with connect() as connection:
        build_cluster(connection, cluster)
    return cluster


def names(key: str) -> tuple[str, str]:
    """The prefix and the group of a key."""
    group = key.split("'")[1]
    return group.rsplit("-", 1)[0] if group in GROUPS[:3] else group, group


@pytest.fixture(params=[0, window_sums.FEW_SUMMED_ROWS], ids=["of tiles", "of rows"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_sums, "FEW_SUMMED_ROWS", request.param)


def windows(now: float) -> list[tuple[int, int]]:
    seconds = ((-100, 2 * SECONDS), (40.123_456, 130.654_321), (90, 91), (0, 60))
    return [(round((now + first) * 1e6), round((now + last) * 1e6)) for first, last in seconds]


def counted(changes: list[Change], until: float) -> dict[str, Counter[str]]:
    """The tasks of each group by state before a time (seconds); those that never began don't count."""
    states = {change[1]: change[3] for change in changes if change[0] < until}
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for key, state in states.items():
        counts[key.split("'")[1]][state] += 1
    return counts


def in_state(changes: list[Change], group: str, state: str, start: float, stop: float) -> float:
    """How long the tasks of a group were in a state, in [start, stop)."""
    return sum(
        (1 if change[3] == state else -1) * (max(stop - max(change[0], start), 0))
        for change in changes
        if change[1].split("'")[1] == group and state in change[2:4]
    )


@pytest.mark.usefixtures("_way")
def test_the_states_of_a_groups_tasks_and_how_long_they_waited_are_those_of_its_transitions(
    cluster: Cluster, changes: list[Change], direct: psycopg.Connection, now: float
) -> None:
    for start, stop in windows(now):
        found = group_graph_of(direct, Scope(cluster), start, stop)
        assert_documented(GroupGraph, found)
        assert (found["has_states"], found["is_complete"], found["others"]) == (True, True, 0)
        begin, end = found["start"], found["stop"]
        before, after = counted(changes, begin), counted(changes, end)
        for place, group in enumerate(found["groups"]):
            name = group["name"]
            told = {state: n for state, n in zip(TASK_STATES, group["before"], strict=True) if n}
            assert told == before[name], "at the window's start"
            states = Counter(told)
            rows = found["changes"]
            for at, state, change in zip(rows["group"], rows["state"], rows["change"], strict=True):
                states[TASK_STATES[state]] += change if at == place else 0
            assert +states == after[name], "at the window's end"
            assert group["tasks"] == sum(after[name].values())
            for state in ("waiting", "processing"):
                expected = in_state(changes, name, state, begin, end)
                assert group[state] == pytest.approx(expected, abs=1e-3)
            assert group["queued"] == 0


def test_a_bin_has_the_changes_in_it(
    cluster: Cluster, changes: list[Change], direct: psycopg.Connection, now: float
) -> None:
    start, stop = windows(now)[1]
    found = group_graph_of(direct, Scope(cluster), start, stop)
    rows, [place] = (
        found["changes"],
        [place for place, group in enumerate(found["groups"]) if group["name"] == GROUPS[0]],
    )
    states = Counter(dict(zip(TASK_STATES, found["groups"][place]["before"], strict=True)))
    for bins in range(rows["bins"]):
        for at, bin, state, change in zip(
            *(rows[name] for name in ("group", "bin", "state", "change")), strict=True
        ):
            states[TASK_STATES[state]] += change if (at, bin) == (place, bins) else 0
        until = min(rows["start"] + (bins + 1) * rows["width"], found["stop"])
        assert +states == counted(changes, until)[GROUPS[0]]
    work = found["work"]
    assert sum(work["tasks"]) == sum(group["computed"] for group in found["groups"]) > 0
    assert sum(work["seconds"]) == pytest.approx(sum(group["seconds"] for group in found["groups"]), abs=1e-3)


def test_an_edge_has_the_pairs_of_all_graphs_that_were_submitted_by_then(
    cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    found = group_graph_of(direct, Scope(cluster), *windows(now)[0])
    shown = [group["name"] for group in found["groups"]]
    edges = {
        (shown[task], shown[needed]): count
        for task, needed, count in zip(
            *(found["edges"][name] for name in ("task", "needed", "edges")), strict=True
        )
    }
    early = {(GROUPS[1], GROUPS[0]): 60.0, (GROUPS[3], GROUPS[1]): 5.0}
    assert edges in (early, {**early, (GROUPS[3], GROUPS[2]): 1.0})
    earlier = group_graph_of(direct, Scope(cluster), *windows(now)[3])
    assert len(earlier["edges"]["task"]) == 2


def test_a_link_shows_no_state_of_before_its_window_and_no_address(
    cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    start, stop = windows(now)[1]
    hidden = read_pseudonyms(cluster)
    scope = Scope(cluster, start, stop, is_public=True, pseudonyms=hidden)
    found = group_graph_of(direct, scope, 0, 2 * stop)
    assert_documented(GroupGraph, found)
    assert (found["start"], found["stop"]) == (start / 1e6, stop / 1e6)
    assert all(not any(group["before"]) and not group["computed_before"] for group in found["groups"])
    with snapshot(direct):
        tasks = task_graph_of(direct, scope, 0, 2 * stop)
    assert tasks["keys"]
    assert "10.0.0.1" not in str(found) + str(tasks)


def test_a_run_has_no_tasks_that_were_forgotten_before_it(
    cluster: Cluster, changes: list[Change], direct: psycopg.Connection, now: float
) -> None:
    start, stop = (round((now + second) * 1e6) for second in (110, 200))
    found = group_graph_of(direct, Scope(cluster, start, stop), start, stop)
    before = counted(changes, found["start"])
    for group in found["groups"]:
        told = {state: n for state, n in zip(TASK_STATES, group["before"], strict=True) if n}
        assert told == {state: n for state, n in before[group["name"]].items() if state != "forgotten"}
        known = counted(changes, found["stop"])[group["name"]]
        assert group["tasks"] == sum(known.values()) - before[group["name"]]["forgotten"]
    assert any(counts["forgotten"] for counts in before.values())


def test_over_the_bound_those_that_took_longest_are_shown_in_wider_bins(
    cluster: Cluster, direct: psycopg.Connection, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = group_graph_of(direct, Scope(cluster), *windows(now)[0])
    monkeypatch.setattr(group_graph, "MOST_GROUPS", 2)
    monkeypatch.setattr(group_graph, "MOST_CHANGES", 20)
    monkeypatch.setattr(group_graph, "MOST_EDGES", 0)
    found = group_graph_of(direct, Scope(cluster), *windows(now)[0])
    longest = sorted(whole["groups"], key=lambda group: -group["seconds"])[:2]
    assert {group["group"] for group in found["groups"]} == {group["group"] for group in longest}
    assert (found["others"], found["edges"]["task"]) == (2, [])
    assert len(found["changes"]["bin"]) <= 20
    assert found["changes"]["width"] > whole["changes"]["width"]


def test_each_task_has_its_states_and_what_it_needs(
    cluster: Cluster, changes: list[Change], direct: psycopg.Connection, now: float
) -> None:
    start, stop = windows(now)[1]
    with snapshot(direct):
        found = task_graph_of(direct, Scope(cluster), start, stop)
    assert_documented(TaskGraph, found)
    inside = [change for change in changes if start <= round(change[0] * 1e6) < stop]
    assert set(found["keys"]) == {change[1] for change in inside}
    states = ["" if state < 0 else TASK_STATES[state] for state in found["before"]]
    first = {
        change[1]: "" if change[5].startswith("update-graph") else change[2] for change in reversed(inside)
    }
    assert dict(zip(found["keys"], states, strict=True)) == first
    rows = found["changes"]
    told = [
        (round(found["start"] + time, 5), found["keys"][task], TASK_STATES[state])
        for task, time, state in zip(rows["task"], rows["time"], rows["state"], strict=True)
    ]
    assert sorted(told) == sorted((round(time, 5), key, finish) for time, key, _, finish, *_ in inside)
    edges = {
        (found["keys"][task], found["keys"][needed])
        for task, needed in zip(found["edges"]["task"], found["edges"]["needed"], strict=True)
    }
    assert edges == {
        (f"('{GROUPS[1]}', {number})", f"('{GROUPS[0]}', {number})")
        for number in range(TASKS)
        if {f"('{GROUPS[one]}', {number})" for one in (0, 1)} <= set(found["keys"])
    }


def test_of_too_many_tasks_it_tells_only_that(
    cluster: Cluster, direct: psycopg.Connection, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("MOST_TASKS", 20), ("MOST_ROWS", 20)):
        with monkeypatch.context() as patch, snapshot(direct):
            patch.setattr(task_graph, name, most)
            found = task_graph_of(direct, Scope(cluster), *windows(now)[0])
            assert_documented(TaskGraph, found)
            assert found["is_too_large"]
            assert (found["keys"], found["changes"]["task"]) == ([], [])


def test_without_transitions_computations_tell_what_became_of_tasks(
    committed: None, direct: psycopg.Connection, now: float
) -> None:
    stock = make_cluster(now, "Scheduler-graph-of-stock")
    span = Span(WORKER, 1, "inc-1", "inc", "inc", Action.COMPUTE, now + 1, now + 3, 10, "int")
    with Writer() as writer:
        seen = [WorkerSeen(WORKER, "", "h", 2, 1000, now)]
        writer.write(Batch.of(stock.pk, seen, [span], committed=now + SECONDS))
    window = round(now * 1e6), round((now + 60) * 1e6)
    groups = group_graph_of(direct, Scope(stock), *window)
    assert_documented(GroupGraph, groups)
    [group] = groups["groups"]
    assert (group["name"], group["computed"], group["waiting"]) == ("inc", 1, None)
    assert not groups["has_states"]
    with snapshot(direct):
        tasks = task_graph_of(direct, Scope(stock), *window)
    assert (tasks["keys"], tasks["seconds"], tasks["has_states"]) == (["inc-1"], [2.0], False)
    assert tasks["before"] == [task_graph.NOT_YET]
    assert [TASK_STATES[state] for state in tasks["changes"]["state"]] == ["processing", "memory"]


def test_a_late_transition_changes_the_states(
    committed: None, direct: psycopg.Connection, now: float
) -> None:
    late = make_cluster(now, "Scheduler-late-transition")
    window = round(now * 1e6), round((now + SECONDS) * 1e6)
    first = (now + 1, "inc-1", "released", "waiting", "", "update-graph-1")
    second = (now + 2, "inc-1", "waiting", "processing", "", "update-graph-1")
    with Writer() as writer, pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_sums, "FEW_SUMMED_ROWS", 0)
        writer.write(Batch.of(late.pk, committed=now + CLOSED, rows={"transition": [first]}))
        build_cluster(direct, late)
        group_graph_of(direct, Scope(late), *window)
        writer.write(Batch.of(late.pk, rows={"transition": [second]}))
        [group] = group_graph_of(direct, Scope(late), *window)["groups"]
    assert group["waiting"] == pytest.approx(1, abs=1e-4)
