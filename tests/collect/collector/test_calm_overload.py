"""More than a process can do makes it fetch what it can, steadily: twice the load, half the resolution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from observatory.collect.collector.load.admission import Admission, Demand
from observatory.collect.collector.load.process_load import HIGH_SHARE, ProcessLoad

SUSTAINED = 100.0
"""scrapes a second that keep the process as busy as it may be"""
FOR_EACH_CLUSTER = 0.2
"""of its time, which does not depend on the number of scrapes"""
STORING = 0.4
"""of what a scrape takes: its records are stored later, with those of all others"""
BETWEEN_BATCHES = 4
"""seconds"""
MINUTE = 60


@dataclass
class Second:
    factor: float
    scrapes: float
    backlog: float
    """Seconds of work that wait."""


def collector(loads: list[float], noise: Iterator[float]) -> list[Second]:
    """What becomes of a process of which so many times of what it can sustain are asked in each second.

    A second has no more than one second of work, and what isn't done waits. `noise`: by how much more or
    less a second's work takes.
    """
    budget = Admission(ProcessLoad())
    cost = HIGH_SHARE * (1 - FOR_EACH_CLUSTER) / SUSTAINED
    backlog, fetched, found = 0.0, 0.0, []
    for second, load in enumerate(loads):
        asked = SUSTAINED * load
        budget.demands[0] = Demand(1, 1.5 * asked, 0.0, asked, largest=12.0)
        scrapes = budget.line.rates.get(1, asked)
        fetched += scrapes
        work = HIGH_SHARE * FOR_EACH_CLUSTER + scrapes * cost * (1 - STORING)
        if second % BETWEEN_BATCHES == 0:
            work, fetched = work + fetched * cost * STORING, 0.0
        backlog += work * next(noise)
        done = min(1.0, backlog)
        backlog -= done
        budget.load.pressure = done / HIGH_SHARE
        budget.adjust()
        found.append(Second(budget.factor, scrapes, backlog))
    return found


def steady() -> Iterator[float]:
    while True:
        yield 1.0


def unsteady() -> Iterator[float]:
    while True:
        yield from (0.7, 1.1, 1.3, 0.8, 1.2, 0.9, 1.0)


def stored(seconds: list[Second]) -> float:
    """The share of what is sustained."""
    return sum(each.scrapes for each in seconds) / len(seconds) / SUSTAINED


@pytest.mark.parametrize("load", [1.0, 1.2, 2.0, 4.0])
def test_as_much_is_stored_at_many_times_the_load_and_the_intervals_come_to_rest(load: float) -> None:
    """A process that stores every four seconds once fetched a ninth less than it could."""
    rest = collector([load] * 4 * MINUTE, steady())[2 * MINUTE :]
    assert stored(rest) == pytest.approx(1.0, abs=0.01)
    assert max(each.factor for each in rest) < 1.02 * min(each.factor for each in rest)
    assert max(each.backlog for each in rest) < 1.0, "what is fetched is stored at once"


@pytest.mark.parametrize("load", [1.0, 1.2, 2.0, 4.0])
def test_work_that_takes_now_more_and_now_less_costs_little(load: float) -> None:
    rest = collector([load] * 4 * MINUTE, unsteady())[2 * MINUTE :]
    assert stored(rest) > 0.93
    assert max(each.factor for each in rest) < 1.6 * min(each.factor for each in rest)


@pytest.mark.parametrize("load", [2.0, 4.0])
def test_a_minute_after_the_load_fell_all_is_fetched_again(load: float) -> None:
    found = collector([load] * 3 * MINUTE + [0.5] * 2 * MINUTE, steady())
    after = found[4 * MINUTE :]
    assert {each.factor for each in after} == {1.0}
    assert stored(after) == pytest.approx(0.5)


def test_a_sudden_load_is_met_within_half_a_minute() -> None:
    """A process with too much to do can't tell how much: its core is busy, with two times as with four."""
    found = collector([0.5] * MINUTE + [4.0] * MINUTE, steady())
    waiting = [each.backlog for each in found[MINUTE + 30 :]]
    assert waiting == sorted(waiting, reverse=True)
    assert stored(found[MINUTE:]) > 0.9
