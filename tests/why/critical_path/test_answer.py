"""The critical path of a run of a real cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from observatory.replay.pseudonyms import read_pseudonyms
from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.critical_path import answer
from observatory.why.critical_path.answer import critical_path
from observatory.why.schemas import CriticalPathAnswer
from observatory.why.window import readable_part
from tests.support.observed_cluster import Observed, agent_server, observed
from tests.support.projects import world
from tests.support.response_schemas import assert_documented
from tests.why.consistency import contradictions

CLOCKS = 0.1
"""seconds by which times of workers are corrected at most, on a loaded machine"""
__all__ = ["agent_server", "observed", "world"]


def answer_of(scope: Scope, after: int = 0, before: int = MAXIMUM_TIME) -> dict[str, Any]:
    with read_connection() as connection:
        return critical_path(connection, scope, after, before)


def test_its_pieces_add_up_to_the_window_in_the_order_of_time(observed: Observed) -> None:
    found = answer_of(observed.scope)
    assert_documented(CriticalPathAnswer, found)
    assert found["has_agent"]
    assert found["has_graph"]
    length = found["stop"] - found["start"]
    assert sum(kind["seconds"] for kind in found["kinds"]) == pytest.approx(length, abs=1e-5)
    pieces = found["pieces"]
    assert [piece["start"] for piece in pieces][1:] == [piece["stop"] for piece in pieces][:-1]
    assert (pieces[0]["start"], pieces[-1]["stop"]) == (found["start"], found["stop"])


def test_a_task_on_it_began_after_what_it_needed_had_ended(observed: Observed) -> None:
    found = answer_of(observed.scope)
    computing = [piece for piece in found["pieces"] if piece["kind"] == "computing"]
    assert len(computing) > 1
    with read_connection() as connection:
        rows = connection.execute(
            """SELECT extract(epoch FROM start)::float8, extract(epoch FROM stop)::float8 FROM span
               WHERE cluster_id = %s AND action = 0""",
            [observed.cluster.pk],
        ).fetchall()
    # a task before another one on the path ends when that one begins to wait, so that it can be cut
    assert all(
        any(abs(start - piece["start"]) < CLOCKS and stop > piece["stop"] - CLOCKS for start, stop in rows)
        for piece in computing
    )
    on_path = {piece["prefix"] for piece in computing}
    assert all(one["slack"] == 0 for one in found["prefixes"] if one["prefix"] in on_path)


def test_threads_path_findings_and_what_if_agree(observed: Observed) -> None:
    with read_connection() as connection:
        window = readable_part(connection, observed.scope, 0, MAXIMUM_TIME)
        assert contradictions(connection, observed.scope, *window) == []


def test_of_many_pieces_the_longest_are_listed(observed: Observed, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answer_of(observed.scope)["pieces"]
    monkeypatch.setattr(answer, "MOST_PIECES", 3)
    found = answer_of(observed.scope)
    assert found["other_pieces"] == len(whole) - 3
    longest = sorted((piece["stop"] - piece["start"] for piece in whole), reverse=True)[:3]
    assert sorted((piece["stop"] - piece["start"] for piece in found["pieces"]), reverse=True) == longest
    assert [piece["start"] for piece in found["pieces"]] == sorted(
        piece["start"] for piece in found["pieces"]
    )


def test_a_link_shows_nothing_outside_of_its_window_and_no_address(observed: Observed) -> None:
    whole = answer_of(observed.scope)
    middle = (whole["start"] + whole["stop"]) / 2
    hidden = read_pseudonyms(observed.cluster)
    narrow = replace(observed.scope, start=round(middle * 1e6), is_public=True, pseudonyms=hidden)
    found = answer_of(narrow)
    assert min(piece["start"] for piece in found["pieces"]) == pytest.approx(middle, abs=1e-5)
    assert "127.0.0.1" not in str(found)
