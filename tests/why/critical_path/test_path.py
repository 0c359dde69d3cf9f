"""The critical path: pieces that add up to the window, each what the next one waited for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from observatory.why.critical_path.path import CriticalPath, Piece
from observatory.why.critical_path.predecessors import NONE
from observatory.why.critical_path.slack import slacks
from observatory.why.records import Graph, Records
from observatory.wire.records import Action
from tests.why.made_records import (
    ERRED,
    LENGTH,
    MEMORY,
    PROCESSING,
    QUEUED,
    RELEASED,
    SECOND,
    WAITING,
    Activity,
    Span,
    Transition,
    activities,
    computed,
    graph,
    graphs,
    life,
    recorded,
    spans,
    stretches,
    tasks,
    transitions,
    worker,
)

Step = tuple[str, float, float, int | None]
"""kind, start, stop (seconds), task"""


def path_of(records: Records, edges: Graph | None = None) -> list[Step]:
    path = CriticalPath(records, edges or graph())
    task = path.computing.task
    return [
        (
            piece.kind.value,
            piece.start / SECOND,
            piece.stop / SECOND,
            None if piece.place == NONE else int(task[piece.place]),
        )
        for piece in path.pieces()
    ]


def sent_at_once(task: int, ready: float, finished: float, worker: int = 1) -> list[Transition]:
    """Of a task submitted at 5."""
    return life(task, sent=ready, finished=finished, worker=worker, begun=5)


def test_a_task_waited_for_the_dependency_that_ended_last() -> None:
    found = recorded(
        [worker(threads=3)],
        [computed(1, 10, 20), computed(2, 10, 40), computed(3, 41, 60)],
        [*sent_at_once(1, 9, 20), *sent_at_once(2, 9, 40), *sent_at_once(3, 40, 60)],
    )
    assert path_of(found, graph((3, 1), (3, 2))) == [
        ("nothing", 0, 5, 2),
        ("scheduler", 5, 9, 2),
        ("ready", 9, 10, 2),
        ("computing", 10, 40, 2),
        ("ready", 40, 41, 3),
        ("computing", 41, 60, 3),
        ("nothing", 60, 100, None),
    ]


def test_a_task_that_was_there_waited_for_the_task_before_it_on_its_thread() -> None:
    found = recorded(
        [worker()],
        [computed(1, 10, 30), computed(2, 30, 50)],
        [*sent_at_once(1, 9, 30), *sent_at_once(2, 9, 50)],
    )
    assert [(kind, task) for kind, _, _, task in path_of(found)][-3:] == [
        ("computing", 1),
        ("computing", 2),
        ("nothing", None),
    ]


def test_a_task_waited_for_its_data_since_its_thread_was_free() -> None:
    found = recorded(
        [worker(1), worker(2)],
        [
            computed(1, 10, 20, worker=2),
            (1, 2, int(Action.TRANSFER), 22, 30, False),
            computed(2, 31, 50),
            computed(3, 10, 25),
        ],
        [
            *sent_at_once(1, 9, 20, worker=2),
            *sent_at_once(2, 21, 50),
            *sent_at_once(3, 9, 25),
        ],
        transfers=[(1, 22, 30)],
    )
    assert path_of(found, graph((2, 1)))[3:] == [  # fetched at once, it would have waited for the thread
        ("computing", 10, 25, 3),
        ("transfer", 25, 30, 2),
        ("ready", 30, 31, 2),
        ("computing", 31, 50, 2),
        ("nothing", 50, 100, None),
    ]


def test_a_queued_task_waited_until_a_task_of_its_worker_had_ended() -> None:
    queued = [
        (2, 5.0, RELEASED, WAITING, 0),
        (2, 5.0, WAITING, QUEUED, 0),
        (2, 31.0, QUEUED, PROCESSING, 1),
        (2, 50.0, PROCESSING, MEMORY, 1),
    ]
    found = recorded(
        [worker()], [computed(1, 10, 30), computed(2, 32, 50)], [*sent_at_once(1, 9, 30), *queued]
    )
    assert path_of(found)[3:6] == [
        ("computing", 10, 30, 1),
        ("scheduler", 30, 31, 2),
        ("ready", 31, 32, 2),
    ]


def test_what_the_scheduler_had_while_all_threads_computed_waited_for_the_last_of_these() -> None:
    found = recorded(
        [worker()],
        [computed(1, 10, 20), computed(2, 20, 34), computed(3, 36, 50)],
        [*sent_at_once(1, 9, 21), *sent_at_once(2, 9, 34), *sent_at_once(3, 35, 50)],
    )
    assert path_of(found, graph((3, 1)))[2:] == [
        ("ready", 9, 10, 1),
        ("computing", 10, 20, 1),
        ("computing", 20, 34, 2),
        ("scheduler", 34, 35, 3),
        ("ready", 35, 36, 3),
        ("computing", 36, 50, 3),
        ("nothing", 50, 100, None),
    ]


def test_a_task_waited_for_the_first_worker() -> None:
    submitted = [(1, 5.0, RELEASED, WAITING, 0), (1, 5.0, WAITING, QUEUED, 0)]
    sent = [(1, 42.0, QUEUED, PROCESSING, 1), (1, 60.0, PROCESSING, MEMORY, 1)]
    found = recorded([worker(start=40, starting=20)], [computed(1, 42, 60)], [*submitted, *sent])
    assert path_of(found) == [
        ("nothing", 0, 5, 1),
        ("starting", 5, 40, 1),
        ("scheduler", 40, 42, 1),
        ("computing", 42, 60, 1),
        ("nothing", 60, 100, None),
    ]


def test_a_queued_task_waited_while_all_workers_were_paused() -> None:
    submitted = [(1, 5.0, RELEASED, WAITING, 0), (1, 5.0, WAITING, QUEUED, 0)]
    sent = [(1, 42.0, QUEUED, PROCESSING, 1), (1, 60.0, PROCESSING, MEMORY, 1)]
    found = recorded(
        [worker(1), worker(2)],
        [computed(1, 42, 60)],
        [*submitted, *sent],
        pauses=[(1, 3, 41), (2, 10, 45)],
    )
    assert path_of(found)[1:5] == [
        ("scheduler", 5, 10, 1),
        ("paused", 10, 41, 1),
        ("scheduler", 41, 42, 1),
        ("computing", 42, 60, 1),
    ]


def test_between_two_graphs_the_path_waited_for_the_client() -> None:
    found = recorded(
        [worker(1), worker(2)],
        [computed(1, 10, 30), computed(2, 61, 80, worker=2)],
        [*sent_at_once(1, 9, 30), *life(2, sent=60, finished=80, worker=2, begun=58)],
    )
    assert ("nothing", 30, 58, 2) in path_of(found)
    assert ("scheduler", 58, 60, 2) in path_of(found)


def test_a_lost_task_waited_for_the_death_of_its_worker() -> None:
    found = recorded(
        [worker(1, stop=30, ended=True), worker(2)],
        [computed(1, 40, 60, worker=2)],
        [
            (1, 5.0, RELEASED, WAITING, 0),
            (1, 6.0, WAITING, PROCESSING, 1),
            (1, 30.0, PROCESSING, RELEASED, 0),
            (1, 30.0, RELEASED, WAITING, 0),
            (1, 39.0, WAITING, PROCESSING, 2),
            (1, 60.0, PROCESSING, MEMORY, 2),
        ],
    )
    assert path_of(found) == [
        ("nothing", 0, 5, 1),
        ("scheduler", 5, 6, 1),
        ("lost", 6, 30, 1),
        ("scheduler", 30, 39, 1),
        ("ready", 39, 40, 1),
        ("computing", 40, 60, 1),
        ("nothing", 60, 100, None),
    ]


def test_a_stolen_task_waited_until_the_thief_had_room() -> None:
    found = recorded(
        [worker(1, stop=90, ended=True), worker(2)],
        [computed(1, 10, 60), computed(2, 10, 30, worker=2), computed(3, 32, 62, worker=2)],
        [
            *sent_at_once(1, 9, 60),
            *sent_at_once(2, 9, 30, worker=2),
            (3, 5.0, RELEASED, WAITING, 0),
            (3, 9.0, WAITING, PROCESSING, 1),
            (3, 31.0, PROCESSING, PROCESSING, 2),
            (3, 62.0, PROCESSING, MEMORY, 2),
        ],
    )
    assert path_of(found)[3:7] == [
        ("computing", 10, 30, 2),
        ("others", 30, 31, 3),
        ("ready", 31, 32, 3),
        ("computing", 32, 62, 3),
    ]


def test_a_retried_task_waited_for_its_failed_attempt() -> None:
    found = recorded(
        [worker()],
        [computed(1, 10, 30, erred=True), computed(1, 33, 60)],
        [
            (1, 5.0, RELEASED, WAITING, 0),
            (1, 9.0, WAITING, PROCESSING, 1),
            (1, 30.0, PROCESSING, ERRED, 0),
            (1, 30.0, ERRED, WAITING, 0),
            (1, 32.0, WAITING, PROCESSING, 1),
            (1, 60.0, PROCESSING, MEMORY, 1),
        ],
    )
    assert ("failed", 10, 30, 1) in path_of(found)
    assert ("computing", 33, 60, 1) in path_of(found)


def test_without_an_agent_the_path_follows_the_threads() -> None:
    found = recorded(
        [worker(1), worker(2)],
        [
            computed(1, 10, 30),
            computed(2, 30, 50),
            computed(3, 12, 20, worker=2),
            computed(4, 70, 80, worker=2),
        ],
    )
    assert path_of(found) == [
        ("nothing", 0, 10, 1),
        ("computing", 10, 30, 1),
        ("computing", 30, 50, 2),
        ("nothing", 50, 70, 4),
        ("computing", 70, 80, 4),
        ("nothing", 80, 100, None),
    ]


def test_where_edges_are_known_between_groups_a_task_waited_for_the_last_task_of_them() -> None:
    found = recorded(
        [worker(threads=3)],
        [computed(1, 10, 20), computed(2, 10, 40), computed(3, 41, 60)],
        [*sent_at_once(1, 9, 20), *sent_at_once(2, 9, 40), *sent_at_once(3, 40, 60)],
    )
    assert ("computing", 10, 20, 1) in path_of(found, graph(groups=[(13, 11)]))
    assert ("computing", 10, 40, 2) in path_of(found, graph(groups=[(13, 11), (13, 12)]))
    # edges between the tasks are better known
    assert ("computing", 10, 20, 1) in path_of(found, graph((3, 1), groups=[(13, 12)]))


def test_a_window_without_tasks_had_nothing_to_do() -> None:
    assert path_of(recorded([worker()])) == [("nothing", 0, 100, None)]


def test_slack_is_how_much_longer_a_task_could_have_taken() -> None:
    found = recorded(
        [worker(threads=3)],
        [computed(1, 10, 20), computed(2, 10, 40), computed(3, 41, 60)],
        [*sent_at_once(1, 9, 20), *sent_at_once(2, 9, 40), *sent_at_once(3, 40, 60)],
    )
    # each task has a lane of its own: only what the third needs is before it
    found.spans.lane[:] = [1, 2, 3]
    path = CriticalPath(found, graph((3, 1), (3, 2)))
    on_path = np.array([piece.place for piece in path.pieces() if piece.place != NONE])
    slack = slacks(path.computing, path.needed, path.previous, on_path, 60 * SECOND)
    assert (slack / SECOND).tolist() == [20, 0, 0]


def test_the_clients_time_on_the_path_is_told_by_what_it_did() -> None:
    found = recorded(
        [worker()],
        [computed(1, 30, 40)],
        [*life(1, sent=30, finished=40, begun=30)],
        activities=[("code", 10, 80), ("optimizing", 15, 20), ("sending", 20, 25), ("gathering", 35, 50)],
        graphs=[29],
    )
    assert path_of(found) == [
        ("nothing", 0, 10, 1),
        ("client-code", 10, 15, 1),
        ("client-optimizing", 15, 20, 1),
        ("client-sending", 20, 29, 1),
        ("client-code", 29, 30, 1),
        ("computing", 30, 40, 1),
        ("client-gathering", 40, 50, None),
        ("client-code", 50, 80, None),
        ("nothing", 80, 100, None),
    ]


@given(
    st.lists(spans, max_size=25),
    st.lists(transitions, max_size=30),
    st.lists(stretches, max_size=5),
    st.lists(st.tuples(tasks, tasks), max_size=10),
    st.lists(activities, max_size=8),
    graphs,
)
def test_whatever_is_recorded_the_pieces_follow_each_other_through_the_whole_window(
    some_spans: Sequence[Span],
    some_transitions: Sequence[Transition],
    transfers: Sequence[tuple[int, float, float]],
    edges: Sequence[tuple[int, int]],
    some_activities: Sequence[Activity],
    some_graphs: Sequence[float],
) -> None:
    workers = [worker(id, stop=90, ended=id == 2) for id in (1, 2, 3)]
    found = recorded(
        workers,
        some_spans,
        some_transitions,
        transfers,
        activities=some_activities,
        graphs=some_graphs,
    )
    path = CriticalPath(found, graph(*edges))
    pieces: list[Piece] = path.pieces()
    ends = [0, *(piece.stop for piece in pieces)]
    assert [piece.start for piece in pieces] == ends[:-1]
    assert ends[-1] == LENGTH * SECOND
    assert all(piece.stop > piece.start for piece in pieces)
    on_path = np.unique([piece.place for piece in pieces if piece.place != NONE]).astype(np.int64)
    slack = slacks(path.computing, path.needed, path.previous, on_path, LENGTH * SECOND)
    assert len(slack) == len(path.computing)
    assert (slack >= 0).all()
    assert (slack[on_path] == 0).all()
