"""Whether a run took longer than usual. Runs of the database: tests/alerts/judging/test_events.py."""

from __future__ import annotations

from observatory.comparison.slowdown import slowdown_of

USUAL = [60.0, 61.0, 59.0, 60.5, 60.0, 61.2]


def test_a_run_is_slower_by_far_more_than_runs_differ() -> None:
    slower = slowdown_of(80.0, USUAL)
    assert slower is not None
    assert (slower.seconds, slower.usual) == (80.0, 60.25)
    assert slowdown_of(61.5, USUAL) is None
    assert slowdown_of(40.0, USUAL) is None
    assert slowdown_of(80.0, [60.0, 90.0, 50.0, 100.0, 61.0, 75.0]) is None


def test_a_difference_of_less_than_a_twentieth_is_none() -> None:
    assert slowdown_of(62.0, [60.0] * 6) is None
    assert slowdown_of(64.0, [60.0] * 6) is not None


def test_two_runs_dont_say_what_is_usual() -> None:
    assert slowdown_of(80.0, USUAL[:2]) is None
    assert slowdown_of(80.0, []) is None


def test_runs_before_the_last_change_dont_count() -> None:
    assert slowdown_of(61.0, [*[30.0, 30.3, 29.9, 30.1, 30.0], *USUAL]) is None
    assert slowdown_of(80.0, [*[90.0, 90.3, 89.9, 90.1, 90.0], *USUAL]) is not None
