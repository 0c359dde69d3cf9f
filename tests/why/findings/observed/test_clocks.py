"""Clocks that differ: which workers', and by how much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from observatory.wire.records import Event
from tests.support.recorded_cluster import START
from tests.why.findings.simulated import Simulated, futures

pytestmark = pytest.mark.django_db(transaction=True)


def seen(*differences: tuple[float, int, object]) -> Simulated:
    found = Simulated(futures(80))
    found.events += [
        Event(
            START + time, "clock-differs", f"tcp://10.0.0.{worker}:4000", {"message": "", "seconds": seconds}
        )
        for time, worker, seconds in differences
    ]
    return found


def test_the_workers_whose_clocks_differ_are_named_with_the_largest_difference() -> None:
    [finding] = seen((1, 0, 0.2), (2, 1, -1.5), (3, 0, 0.4)).findings()
    assert (finding["kind"], finding["thread_seconds"]) == ("clocks", 0)
    assert finding["sentence"] == "The clocks of 2 workers differ from the scheduler's, by up to 1.50 s."
    assert [fact["value"] for fact in finding["facts"]] == ["1.50 s ahead", "400 ms behind"]
    assert len(finding["workers"]) == 2


def test_small_differences_and_events_without_one_are_none() -> None:
    assert seen((1, 0, 0.06), (2, 1, None), (2, 1, "late")).findings() == []


def test_workers_on_the_schedulers_machine_have_its_clock_however_late_their_heartbeats_are() -> None:
    late = seen((1, 0, 0.3))
    late.seen = [replace(one, host="127.0.0.1") for one in late.seen]
    assert late.findings() == []
