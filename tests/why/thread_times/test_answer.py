"""The time of threads in a run of a real cluster, compared with sums over the stored rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from observatory.replay.pseudonyms import read_pseudonyms
from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why import window
from observatory.why.schemas import ThreadTimes
from observatory.why.thread_times.answer import thread_times
from tests.support.observed_cluster import HOSTILE, Observed, agent_server, observed
from tests.support.projects import World, world
from tests.support.response_schemas import assert_documented

__all__ = ["agent_server", "observed", "world"]

THREADS = 4


def answer_of(scope: Scope, after: int = 0, before: int = MAXIMUM_TIME) -> dict[str, Any]:
    with read_connection() as connection:
        return thread_times(connection, scope, after, before)


def by_kind(found: dict[str, Any]) -> dict[str, float]:
    return {one["kind"]: one["seconds"] for one in found["kinds"]}


def stored(query: str, observed: Observed) -> float:
    with read_connection() as connection:
        [(value,)] = connection.execute(query, [observed.cluster.pk]).fetchall()
    return float(value)


def test_computing_is_what_the_spans_say_and_all_is_the_workers_lives(observed: Observed) -> None:
    found = answer_of(observed.scope)
    assert_documented(ThreadTimes, found)
    assert found["has_agent"]
    kinds = by_kind(found)
    spans = """SELECT sum(extract(epoch FROM stop - start)) FROM span
               WHERE cluster_id = %s AND action = 0 AND status = """
    # Dask corrects a worker's clock again and again: on a loaded machine consecutive spans can overlap
    computed, failed = stored(f"{spans} 0", observed), stored(f"{spans} 1", observed)
    assert kinds["computing"] == pytest.approx(computed, rel=0.05)
    assert kinds["computing"] + kinds["failed"] == pytest.approx(computed + failed, rel=0.05)
    assert 0.5 * failed < kinds["failed"] <= failed + 0.01
    with read_connection() as connection:
        lives = connection.execute(
            "SELECT extract(epoch FROM started)::float8, extract(epoch FROM ended)::float8 FROM worker "
            "WHERE cluster_id = %s",
            [observed.cluster.pk],
        ).fetchall()
    first, last = found["start"], found["stop"]
    alive = sum(min(last, stop or last) - max(first, start) for start, stop in lives)
    assert sum(kinds.values()) - kinds["starting"] == pytest.approx(alive * THREADS / len(lives), abs=0.01)
    assert sum(sum(one["seconds"]) for one in found["workers"]) == pytest.approx(
        sum(kinds.values()), abs=0.01
    )
    assert kinds["nothing"] > 1.5 * THREADS * 0.5  # it sleeps at the end


def test_the_parts_over_time_and_of_prefixes_are_those_of_the_whole(observed: Observed) -> None:
    found = answer_of(observed.scope)
    kinds = by_kind(found)
    for (kind, seconds), bins in zip(kinds.items(), found["over_time"]["seconds"], strict=True):
        assert sum(bins) == pytest.approx(seconds, abs=0.01), kind
    place = list(kinds).index("computing")
    assert sum(one["seconds"][place] for one in found["prefixes"]) == pytest.approx(
        kinds["computing"], abs=0.01
    )


def test_threads_waited_for_the_tasks_that_ran_last(observed: Observed) -> None:
    found = answer_of(observed.scope)
    assert found["waited_for"]
    times = [one["seconds"] for one in found["waited_for"]]
    assert times == sorted(times, reverse=True)
    assert sum(times) <= by_kind(found)["others"] + 0.01


def test_a_window_has_its_own_times_and_nothing_of_others(observed: Observed) -> None:
    whole = answer_of(observed.scope)
    middle = (whole["start"] + whole["stop"]) / 2
    first = answer_of(observed.scope, 0, round(middle * 1e6))
    second = answer_of(observed.scope, round(middle * 1e6))
    for kind in ("computing", "failed"):  # a window's own records tell how its clocks are corrected
        parts = by_kind(first)[kind] + by_kind(second)[kind]
        assert parts == pytest.approx(by_kind(whole)[kind], rel=0.03, abs=0.1)
    narrow = replace(observed.scope, start=round(middle * 1e6), is_public=True)
    assert answer_of(narrow)["start"] == pytest.approx(middle, abs=1e-5)
    assert by_kind(answer_of(observed.scope, 1, 2)) == dict.fromkeys(by_kind(whole), 0.0)


def test_a_link_that_hides_addresses_has_none(observed: Observed) -> None:
    hidden = replace(observed.scope, pseudonyms=read_pseudonyms(observed.cluster))
    assert "127.0.0.1" not in str(answer_of(hidden))


def test_a_window_with_too_many_tasks_says_what_to_do(
    observed: Observed, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "MOST_SPANS", 5)
    answered = world.client("owner").get(f"/api/v1/clusters/{observed.cluster.pk}/thread-times")
    assert answered.status_code == 413
    assert "Choose a shorter one" in answered.json()["detail"]
    assert HOSTILE not in answered.content.decode()
