"""A rule tried on the past."""

from __future__ import annotations

import time

import numpy as np
import pytest

from observatory.alerts.evaluation import back_test as module
from observatory.alerts.evaluation.back_test import (
    MAX_SUBJECTS,
    BackTestError,
    back_test,
    firings_of_variants,
)
from observatory.alerts.evaluation.gathered import MAX_POINTS
from observatory.alerts.rules.conditions import By, EventCondition, NoData
from tests.alerts.evaluation.window.conftest import START, Stored, above, name_of, rule, shifted


def wave(seconds: int, period: int = 97) -> dict[float, float]:
    """A value a second."""
    times = np.arange(seconds)
    return dict(zip((times + 0.25).tolist(), (50 + 50 * np.sin(times * 6.3 / period)).tolist(), strict=True))


def test_a_back_test_fires_as_the_evaluator_does(stored: Stored) -> None:
    for name, period in (("w0", 97), ("w1", 61)):
        stored.worker(name)
        stored.samples(wave(900, period), worker=name)
    spec = rule(above(90, clear_threshold=40), hold=7)
    live = stored.firings(spec, *range(0, 901, 5))
    tried = back_test(stored.cluster, spec, START, START + 900)
    found = [(name_of(each.outcome.subject), shifted(one)) for each in tried.results for one in each.firings]
    assert sorted(found, key=lambda each: (each[1].fired, each[0])) == live
    assert tried.firings == len(live) > 10


def test_variants_of_a_rule_fire_as_their_own_back_tests(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, period in (("w0", 97), ("w1", 61)):
        stored.worker(name)
        stored.samples(wave(600, period), worker=name)
    specs = [rule(above(90, clear_threshold=clear), hold=7) for clear in (None, 40, -1)]
    tried = [back_test(stored.cluster, spec, START, START + 600) for spec in specs]
    monkeypatch.setattr(module, "SAMPLES_PER_PIECE", 100)
    variants = firings_of_variants(stored.cluster, specs, START, START + 600)
    for one, firings in zip(tried, variants, strict=True):
        own = [firing for result in one.results for firing in result.firings]
        assert sorted(own, key=str) == sorted(firings, key=str)
    assert [one.firings for one in tried] == [16, 16, 2]


def test_crossings_that_are_too_short_to_fire_are_returned(stored: Stored) -> None:
    stored.worker("w0")
    stored.samples({float(time): 9.0 if time % 20 < 6 else 1.0 for time in range(60)}, worker="w0")
    tried = back_test(stored.cluster, rule(above(5), hold=10), START, START + 60)
    assert (tried.firings, tried.too_short) == (0, [6, 6, 6])
    assert back_test(stored.cluster, rule(above(5), hold=3), START, START + 60).durations == [3, 3, 3]


def test_evaluating_a_long_window_in_pieces_gives_the_same_result(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.worker("w0")
    stored.samples(wave(600) | {400.7: float("nan")}, worker="w0")
    stored.event(333, "worker-status", "w0", message="w0 is paused", status="paused")
    spec = rule(above(60), hold=3)
    at_once = back_test(stored.cluster, spec, START, START + 700)
    monkeypatch.setattr(module, "SAMPLES_PER_PIECE", 50)
    pieces = back_test(stored.cluster, spec, START, START + 700)
    assert pieces.results[0].firings == at_once.results[0].firings
    for ours, theirs in zip(pieces.results, at_once.results, strict=True):
        np.testing.assert_array_equal(ours.outcome.times, theirs.outcome.times)
        np.testing.assert_array_equal(ours.outcome.values, theirs.outcome.values)


def test_results_are_thinned_out_with_extremes_and_gaps_kept(stored: Stored) -> None:
    stored.worker("w0")
    notified = {**wave(6000), 1234.25: 1000.0}
    stored.samples({time: value for time, value in notified.items() if not 3000 < time < 3600}, worker="w0")
    [result] = back_test(stored.cluster, rule(above(1e9)), START, START + 6100).results
    outcome = result.outcome
    assert len(outcome.times) <= MAX_POINTS
    assert outcome.values[outcome.times == START + 1234.25] == [1000]
    # the last before the gap was told at 2999.25
    gap = np.flatnonzero(np.isnan(outcome.values))
    assert (outcome.times[gap] - START).tolist() == [0, 3014.25, 6014.25]
    assert outcome.times[gap[1] + 1] - START == 3600.25


def test_subjects_that_fired_come_first(stored: Stored) -> None:
    for shard in range(60):
        stored.samples({1: shard if shard != 7 else 500, 2: 0}, "queue", shard=str(shard))
    tried = back_test(stored.cluster, rule(above(100, "queue", by=By.SERIES)), START, START + 60)
    assert len(tried.results) == MAX_SUBJECTS
    assert tried.omitted == 10
    assert [each.outcome.subject.labels["shard"] for each in tried.results[:3]] == ["7", "59", "58"]


def test_a_window_with_too_much_data_is_rejected_with_advice(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.worker("w0")
    stored.samples(wave(100), worker="w0")
    monkeypatch.setattr(module, "MAX_SAMPLES", 99)
    with pytest.raises(BackTestError, match=r"more than 99 samples of .* choose a shorter one"):
        back_test(stored.cluster, rule(above(1)), START, START + 200)
    assert back_test(stored.cluster, rule(above(1)), START, START + 90).firings
    with pytest.raises(BackTestError, match="has to end after its start"):
        back_test(stored.cluster, rule(above(1)), START + 90, START)


def test_a_window_is_cut_to_the_lifetime_of_the_cluster(stored: Stored) -> None:
    stored.samples({1: 5}, "queue")
    absent = rule(above(9, "queue", by=By.CLUSTER), no_data=NoData.FIRE)
    [result] = back_test(stored.cluster, absent, START - 1e6, START + 1e4).results
    assert [shifted(firing).fired for firing in result.firings] == [16]
    assert back_test(stored.cluster, absent, time.time() - 60, time.time() + 1e6).stop <= time.time()
    stored.ends(40)
    [result] = back_test(stored.cluster, absent, START - 1e6, START + 1e9).results
    assert [shifted(firing).resolved for firing in result.firings] == [40]
    assert back_test(stored.cluster, absent, START + 1e6, START + 2e6).results == []


def test_events_at_the_end_of_a_cluster_are_included(stored: Stored) -> None:
    stored.event(39, "cluster-ended", message="over")
    stored.ends(39)
    ended = rule(EventCondition("cluster-ended", By.CLUSTER, window=300.0))
    [result] = back_test(stored.cluster, ended, START, START + 1e6).results
    assert [shifted(firing) for firing in result.firings] == [type(result.firings[0])(39, 39, 339, 1, "over")]
