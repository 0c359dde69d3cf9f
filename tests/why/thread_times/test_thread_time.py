"""Every microsecond of every thread is in exactly one kind, and in the right one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observatory.why.records import Records
from observatory.why.thread_times.kinds import KINDS, ThreadKind
from observatory.why.thread_times.thread_time import Accountant, ThreadTime
from observatory.why.unfinished import unfinished_computations
from observatory.wire.records import Action
from tests.why.made_records import (
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
    graphs,
    lengths,
    life,
    recorded,
    spans,
    stretches,
    times,
    transitions,
    worker,
)


def account(records: Records) -> ThreadTime:
    return Accountant(records).account()


def seconds(records: Records) -> dict[str, float]:
    """Of the kinds that took time."""
    return {kind.value: time for kind, time in account(records).seconds.items() if time}


def test_a_thread_computes_or_has_nothing_to_do() -> None:
    assert seconds(recorded([worker()], [computed(1, 10, 40)])) == {"computing": 30, "nothing": 70}


def test_a_task_that_waits_for_the_event_loop_of_its_worker_was_sent_and_not_begun() -> None:
    found = recorded([worker()], [computed(1, 12, 40)], life(1, sent=10, finished=40, begun=10))
    assert seconds(found) == {"ready": 2, "computing": 28, "nothing": 70}


def test_a_task_waits_for_data_while_its_worker_receives_some() -> None:
    found = recorded(
        [worker()], [computed(1, 20, 40)], life(1, sent=10, finished=40, begun=10), transfers=[(1, 11, 18)]
    )
    assert seconds(found) == {"transfer": 7, "ready": 3, "computing": 20, "nothing": 70}


def test_one_waiting_task_keeps_one_thread_waiting() -> None:
    found = recorded([worker(threads=3)], [computed(1, 20, 40)], life(1, sent=10, finished=40, begun=10))
    assert seconds(found) == {
        "ready": 10,
        "computing": 20,
        "others": 2 * 30,  # from its submission until its end
        "nothing": 3 * 70,
    }


def test_queued_tasks_were_not_sent_yet() -> None:
    transitions = [
        (1, 10.0, RELEASED, QUEUED, 0),
        (1, 15.0, QUEUED, PROCESSING, 1),
        (1, 40.0, PROCESSING, MEMORY, 1),
    ]
    found = recorded([worker()], [computed(1, 15, 40)], transitions)
    assert seconds(found) == {"scheduler": 5, "computing": 25, "nothing": 70}


def test_a_task_that_computes_makes_the_other_workers_wait_and_is_blamed() -> None:
    found = recorded([worker(1), worker(2), worker(3)], [computed(1, 0, 10), computed(2, 0, 30, worker=2)])
    assert seconds(found) == {"computing": 40, "others": 20 + 30, "nothing": 70 * 3}
    blamed = account(found).blamed
    assert blamed.tolist() == [pytest.approx(5), pytest.approx(5 + 40)]


def test_a_worker_starts_up_until_the_scheduler_knows_it() -> None:
    found = recorded([worker(1), worker(2, threads=2, start=30, starting=20)], [computed(1, 0, 40)])
    assert seconds(found) == {"computing": 40, "starting": 2 * 20, "others": 2 * 10, "nothing": 60 + 2 * 60}


def test_a_paused_worker_waits_for_its_memory() -> None:
    found = recorded([worker(threads=2)], [computed(1, 10, 40)], pauses=[(1, 30, 50)])
    assert seconds(found) == {"computing": 30, "paused": 10 + 2 * 10, "others": 20, "nothing": 120}


def test_what_is_read_from_disk_is_told_apart() -> None:
    reads = (1, 1, int(Action.DISK_READ), 10.0, 12.0, False)
    opens = (1, 1, int(Action.DESERIALIZE), 12.0, 13.0, False)
    found = recorded([worker()], [reads, opens, computed(1, 13, 20)])
    assert seconds(found) == {"disk": 2, "serialization": 1, "computing": 7, "nothing": 90}


def test_a_failed_attempt_and_a_second_computation_are_told_apart() -> None:
    spans = [computed(1, 0, 10, erred=True), computed(1, 10, 30), computed(1, 50, 90)]
    found = recorded([worker()], spans)
    assert seconds(found) == {"failed": 10, "computing": 20, "recomputing": 40, "nothing": 30}


def test_a_task_on_a_worker_that_died_is_lost_until_its_death() -> None:
    transitions = [
        (1, 10.0, WAITING, PROCESSING, 1),
        (1, 60.1, PROCESSING, RELEASED, 1),
        (1, 60.11, RELEASED, WAITING, 0),
    ]
    found = recorded([worker(stop=60, ended=True)], transitions=transitions)
    assert seconds(found) == {"scheduler": 10, "lost": 50}  # no worker had a task before
    assert not len(unfinished_computations(found).withdrawn)


def test_a_task_that_a_client_released_just_before_its_worker_closed_had_run_until_then() -> None:
    transitions = [(1, 10.0, WAITING, PROCESSING, 1), (1, 60.0, PROCESSING, RELEASED, 0)]
    found = recorded([worker(stop=60.2, ended=True)], transitions=transitions)
    assert unfinished_computations(found).withdrawn.tolist() == [60 * SECOND]
    assert "lost" not in seconds(found)


def test_a_stolen_task_waits_on_the_worker_that_stole_it() -> None:
    transitions = [
        (1, 10.0, WAITING, PROCESSING, 1),
        (1, 15.0, PROCESSING, PROCESSING, 2),
        (1, 40.0, PROCESSING, MEMORY, 2),
    ]
    found = recorded([worker(1), worker(2)], [computed(1, 20, 40, worker=2)], transitions)
    assert account(found).workers[1].seconds[ThreadKind.READY] == 0
    assert account(found).workers[2].seconds[ThreadKind.READY] == 5


def test_the_time_that_tasks_took_is_told_by_their_prefix() -> None:
    found = recorded([worker()], [computed(1, 12, 40)], life(1, sent=10, finished=40, begun=10))
    [(prefix, kinds)] = account(found).prefixes.items()
    assert (prefix, kinds[ThreadKind.READY], kinds[ThreadKind.COMPUTING]) == (11, 2, 28)


def test_while_there_is_nothing_to_do_in_a_clients_run_its_activities_tell_why() -> None:
    found = recorded(
        [worker(threads=2)],
        [computed(1, 40, 50)],
        activities=[
            ("code", 10, 90),
            ("optimizing", 20, 25),
            ("sending", 25, 40),
            ("gathering", 45, 60),  # the first five seconds of it a thread computes
        ],
    )
    assert seconds(found) == {
        "computing": 10,
        "others": 10,
        "client-gathering": 2 * 10,
        "client-sending": 2 * 15,
        "client-optimizing": 2 * 5,
        "client-code": 2 * (10 + 30),
        "nothing": 2 * 20,
    }


def test_a_graph_is_on_its_way_until_the_scheduler_has_it() -> None:
    found = recorded(
        [worker()], activities=[("code", 0, 100), ("sending", 10, 12), ("sending", 50, 52)], graphs=[18]
    )
    assert seconds(found) == {"client-sending": 8 + 2, "client-code": 90}


def test_a_graph_that_never_arrives_is_on_its_way_at_most_until_the_next_one_is_sent() -> None:
    found = recorded([worker()], activities=[("sending", 10, 12), ("sending", 50, 52)], graphs=[60])
    assert seconds(found) == {"client-sending": 50, "nothing": 50}


def test_what_is_kept_of_a_worker_does_not_grow_with_the_tasks_of_others() -> None:
    """With thousands of workers it would be gigabytes."""
    tasks = [computed(number, number / 10, number / 10 + 0.05) for number in range(900)]
    found = account(recorded([worker(1), worker(2)], tasks))
    idle = found.workers[2]
    assert sum(len(steps.edges) for steps in (idle.left, *idle.taken.values())) == 2
    assert idle.seconds[ThreadKind.OTHERS] == pytest.approx(45)
    assert found.taken_by(2, ThreadKind.OTHERS).values.sum() == 900


@given(
    st.lists(st.tuples(st.integers(1, 4), times, lengths, st.booleans(), lengths), min_size=1, max_size=3),
    st.lists(spans, max_size=25),
    st.lists(transitions, max_size=25),
    st.lists(stretches, max_size=5),
    st.lists(stretches, max_size=3),
    st.lists(activities, max_size=8),
    graphs,
)
def test_whatever_is_recorded_the_kinds_add_up_to_the_time_of_all_threads(
    lives: list[tuple[int, float, float, bool, float]],
    some_spans: list[Span],
    some_transitions: list[Transition],
    transfers: list[tuple[int, float, float]],
    pauses: list[tuple[int, float, float]],
    some_activities: list[Activity],
    some_graphs: list[float],
) -> None:
    workers = []
    for place, (threads, start, length, ended, starting) in enumerate(lives):
        first = min(max(start, 0), LENGTH)
        last = min(first + length, LENGTH)
        workers.append(worker(place + 1, threads, first, last, ended, starting))
    found = account(
        recorded(workers, some_spans, some_transitions, transfers, pauses, some_activities, some_graphs)
    )
    for one in workers:
        kinds = found.workers[one.id].seconds
        assert all(time >= 0 for time in kinds.values())
        assert sum(kinds.values()) == pytest.approx(one.threads * (one.stop - one.begun) / 1e6, abs=1e-5)
        assert kinds[ThreadKind.STARTING] <= one.threads * one.starting / 1e6 + 1e-5
    for kind in KINDS:
        assert found.over_time[kind].sum() == pytest.approx(found.seconds[kind], abs=1e-3)
        told = sum(kinds[kind] for kinds in found.prefixes.values())
        assert told == pytest.approx(found.seconds[kind], abs=1e-3) or told == 0
    assert found.blamed.sum() <= found.seconds[ThreadKind.OTHERS] + 1e-3
