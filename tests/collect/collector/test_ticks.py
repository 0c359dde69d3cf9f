"""Targets that begin at different times do what they do every second at the same time."""

from __future__ import annotations

import pytest

from observatory.collect.collector.load import ticks


class Clock:
    def __init__(self, now: float) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize("seconds", [0.25, 0.5, 1.0])
def test_whenever_one_begins_to_wait_it_wakes_with_the_others(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waked = set()
    for place in range(10):
        began = 1000.0 + 0.09 * place * seconds
        monkeypatch.setattr(ticks, "time", Clock(began))
        waked.add(round(began + ticks.until_tick(seconds), 6))
    assert waked == {1000.0 + seconds}


def test_a_timer_that_is_early_does_not_wake_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    for began in (1000.999, 1001.0, 1001.001):
        monkeypatch.setattr(ticks, "time", Clock(began))
        assert round(began + ticks.until_tick(1.0), 6) == 1002.0
