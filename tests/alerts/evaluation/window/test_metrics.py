"""What conditions on metrics say, judged on what is stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from observatory.alerts.evaluation.window.state_machine import Firing
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    Function,
    MetricCondition,
    NoData,
    Operation,
    Selector,
)
from observatory.alerts.rules.quantities import QUANTITIES
from observatory.alerts.silences.matchers import parse_matchers
from observatory.wire.records import MetricType, Sample, Series
from tests.alerts.evaluation.window.conftest import MEMORY, START, Fired, Stored, above, rule


def spans(fired: Fired) -> list[tuple[str, float, float | None]]:
    return [(name, firing.fired, firing.resolved) for name, firing in fired]


def every(seconds: float, start: float, stop: float, value: float) -> dict[float, float]:
    return {start + i * seconds: value for i in range(round((stop - start) / seconds))}


def test_an_alert_fires_and_is_resolved_at_the_times_of_its_samples(
    stored: Stored,
) -> None:
    stored.worker("w0")
    stored.samples({1.25: 10, 2.25: 90, 3.25: 95, 4.5: 20}, worker="w0")
    assert stored.firings(rule(above(80)), 0, 10) == [("w0", Firing(2.25, 2.25, 4.5, 90, ""))]


def test_an_alert_fires_only_after_its_hold_time(stored: Stored) -> None:
    stored.worker("w0")
    stored.samples({1: 90, 3: 20, 4: 91, 6: 92, 9: 93, 10: 20}, worker="w0")
    assert stored.firings(rule(above(80), hold=4), 0, 20) == [("w0", Firing(4, 8, 10, 92, ""))]
    assert stored.firings(rule(above(80), hold=6), 0, 20) == []


def test_between_threshold_and_clear_threshold_an_alert_stays_as_it_is(stored: Stored) -> None:
    stored.worker("w0")
    stored.samples({1: 75, 2: 85, 3: 75, 4: 70, 5: 75}, worker="w0")
    assert spans(stored.firings(rule(above(80, clear_threshold=70)), 0, 10)) == [("w0", 2, 4)]
    below = above(71, comparison=Comparison.BELOW, clear_threshold=74)
    assert spans(stored.firings(rule(below), 0, 10)) == [("w0", 4, 5)]


def test_after_three_intervals_without_samples_the_no_data_setting_applies(
    stored: Stored,
) -> None:
    stored.worker("w0")
    stored.samples({1: 90}, worker="w0")
    assert spans(stored.firings(rule(above(80)), 0, 50)) == [("w0", 1, 16)]
    assert spans(stored.firings(rule(above(80), no_data=NoData.KEEP), 0, 50)) == [("w0", 1, None)]
    assert spans(stored.firings(rule(above(95), no_data=NoData.FIRE), 0, 50)) == [("w0", 16, None)]
    stored.leaves("w0", 40)
    assert spans(stored.firings(rule(above(80), no_data=NoData.KEEP), 0, 50)) == [("w0", 1, 40)]
    assert spans(stored.firings(rule(above(95), no_data=NoData.FIRE), 0, 50)) == [("w0", 16, 40)]
    # the windows may be cut before and after the end of its life
    assert spans(stored.firings(rule(above(80), no_data=NoData.KEEP), 0, 30, 35, 45, 50)) == [("w0", 1, 40)]


def test_a_value_can_be_compared_for_equality_and_missing_data_is_neither(stored: Stored) -> None:
    stored.worker("w0")
    stored.samples({1: 3, 2: 4, 3: 3, 4: 5}, worker="w0")
    assert spans(stored.firings(rule(above(3, comparison=Comparison.EQUAL)), 0, 10, 60)) == [
        ("w0", 1, 2),
        ("w0", 3, 4),
    ]
    unequal = rule(above(3, comparison=Comparison.NOT_EQUAL))
    assert spans(stored.firings(unequal, 0, 10, 60)) == [("w0", 2, 3), ("w0", 4, 19)]


def test_a_metric_is_missing_while_it_has_no_data_and_its_subject_lives(stored: Stored) -> None:
    stored.worker("w0", started=2)
    stored.samples({30: 1, 31: 1}, worker="w0")
    absent = rule(above(0, comparison=Comparison.ABSENT))
    assert spans(stored.firings(absent, 0, 100)) == [("w0", 17, 30), ("w0", 46, None)]
    stored.leaves("w0", 50)
    assert spans(stored.firings(absent, 0, 20, 40, 100)) == [("w0", 17, 30), ("w0", 46, 50)]


def test_the_difference_of_two_metrics_is_compared(stored: Stored) -> None:
    stored.samples({1: 2, 3: 5, 6: 0}, metric="desired")
    stored.samples({1: 1, 4: 3}, metric="workers", state="idle")
    stored.samples({1: 1, 4: 2}, metric="workers", state="saturated")
    missing = above(
        0,
        selector=Selector("desired"),
        by=By.CLUSTER,
        other=Selector("workers"),
        operation=Operation.SUBTRACT,
    )
    assert stored.firings(rule(missing), 0, 10) == [("", Firing(3, 3, 4, 3, ""))]
    unequal = replace(missing, comparison=Comparison.NOT_EQUAL)
    assert spans(stored.firings(rule(unequal), 0, 10, 60)) == [("", 3, 4), ("", 6, 19)]


def test_a_worker_without_series_has_no_data(stored: Stored) -> None:
    stored.worker("w0", started=3)
    stored.worker("gpu", started=4)
    assert spans(stored.firings(rule(above(80), no_data=NoData.FIRE), 0, 50)) == [
        ("w0", 18, None),
        ("gpu", 19, None),
    ]
    only = Selector(MEMORY, parse_matchers('worker=~"gpu.*", type="process"'))
    condition = above(80, selector=only)
    assert spans(stored.firings(rule(condition, no_data=NoData.FIRE), 0, 50)) == [("gpu", 19, None)]


def test_the_whole_cluster_without_data_and_its_end(stored: Stored) -> None:
    stored.samples({10: 1, 20: 1}, "observatory_cluster_threads")
    condition = above(5, "observatory_cluster_threads", by=By.CLUSTER)
    assert spans(stored.firings(rule(condition, no_data=NoData.FIRE), 0, 60)) == [("", 35, None)]
    stored.ends(50)
    assert spans(stored.firings(rule(condition, no_data=NoData.FIRE), 0, 40, 60)) == [("", 35, 50)]
    low = above(5, "observatory_cluster_threads", by=By.CLUSTER, comparison=Comparison.BELOW)
    assert spans(stored.firings(rule(low), 0, 60)) == [("", 10, 35)]


def test_a_series_that_stopped_before_the_window_is_without_data_in_it(stored: Stored) -> None:
    stored.samples({1: 1}, "queue", name="a")
    condition = above(5, "queue", by=By.SERIES)
    assert spans(stored.firings(rule(condition, no_data=NoData.FIRE), 100, 120)) == [("name=a", 100, None)]
    assert spans(stored.firings(rule(condition, no_data=NoData.FIRE), 0, 50, 120)) == [("name=a", 16, None)]


def test_series_end_with_their_worker(stored: Stored) -> None:
    stored.worker("w0")
    stored.samples({1: 90}, worker="w0")
    stored.leaves("w0", 5.5)
    assert spans(stored.firings(rule(above(80)), 0, 50)) == [("w0", 1, 5.5)]


def test_series_of_a_worker_are_selected_by_labels_and_aggregated(stored: Stored) -> None:
    stored.worker("w0")
    for kind, value in (("managed", 30.0), ("unmanaged", 50.0), ("spilled", 7.0)):
        stored.samples({1: value, 2: 2 * value}, worker="w0", type=MetricType.GAUGE, kind=kind)
    memory = Selector(MEMORY, parse_matchers('kind=~"managed|unmanaged"'))
    assert spans(stored.firings(rule(above(100, selector=memory)), 0, 10)) == [("w0", 2, None)]
    assert spans(stored.firings(rule(above(90)), 0, 10)) == [("w0", 2, None)]
    assert spans(stored.firings(rule(above(80)), 0, 10)) == [("w0", 1, None)]
    by_series = rule(above(59, by=By.SERIES))
    assert spans(stored.firings(by_series, 0, 10)) == [("w0", 2, None), ("w0", 2, None)]


@pytest.mark.parametrize(
    ("aggregate", "value"),
    [
        (Aggregate.SUM, 100.0),
        (Aggregate.MEAN, 25.0),
        (Aggregate.MIN, 10.0),
        (Aggregate.MAX, 40.0),
        (Aggregate.QUANTILE, 32.5),
    ],
)
def test_the_workers_of_a_cluster_are_aggregated_at_whole_seconds(
    stored: Stored, aggregate: Aggregate, value: float
) -> None:
    for place, memory in enumerate((10, 20, 30, 40)):
        stored.worker(f"w{place}")
        stored.samples({1 + place / 10: memory}, worker=f"w{place}")
    condition = above(
        value, by=By.CLUSTER, aggregate=aggregate, quantile=0.75, comparison=Comparison.AT_LEAST
    )
    [(name, firing)] = stored.firings(rule(condition), 0, 10)
    # the first of them told at 1.0 s, the others by 1.3 s
    assert (name, firing.fired, firing.value) == ("", 1 if aggregate == Aggregate.MIN else 2, value)


def test_workers_that_left_are_excluded_from_the_sum_of_the_cluster(stored: Stored) -> None:
    for name in ("w0", "w1"):
        stored.worker(name)
        stored.samples(every(1, 0.5, 20, 50), worker=name)
    stored.leaves("w1", 7.3)
    total = above(80, by=By.CLUSTER)
    assert spans(stored.firings(rule(total), 0, 15)) == [("", 1, 8)]
    share = above(0.3, by=By.CLUSTER, other=Attribute.MEMORY_LIMIT)
    assert spans(stored.firings(rule(share), 0, 15)) == [("", 1, None)]


def test_a_rate_spans_the_window_and_handles_counter_resets(stored: Stored) -> None:
    stored.worker("w0")
    notified = {0: 0.0, 5: 5.0, 10: 10.0, 15: 40.0, 20: 45.0, 25: 5.0, 30: 10.0, 35: 15.0}
    stored.samples(notified, "bytes_total", "w0", MetricType.COUNTER)
    rate = above(2, "bytes_total", selector=Selector("bytes_total", (), Function.RATE, 10))
    # at 15 it is (40 - 5) / 10; at 20 (45 - 10) / 10; at 25 it lost 45: (5 - 40 + 45) / 10
    assert stored.firings(rule(rate), 0, 40) == [("w0", Firing(15, 15, 25, 3.5, ""))]
    change = above(29, "bytes_total", selector=Selector("bytes_total", (), Function.CHANGE, 10))
    assert stored.firings(rule(change), 0, 40) == [("w0", Firing(15, 15, 25, 35, ""))]


def test_a_single_sample_has_no_rate_and_gauges_can_fall(stored: Stored) -> None:
    stored.samples({0: 100, 5: 50}, "queue")
    falls = Selector("queue", (), Function.CHANGE, 60)
    condition = above(0, selector=falls, by=By.SERIES, comparison=Comparison.BELOW)
    assert stored.firings(rule(condition), 0, 10) == [("", Firing(5, 5, None, -50, ""))]


def test_counters_sent_on_change_are_valid_while_the_cluster_is_heard(stored: Stored) -> None:
    stealing = "observatory_stealing_requests_total"
    stored.samples({1: 10, 41: 30}, stealing, type=MetricType.COUNTER)
    stored.samples(every(1, 0, 100, 4), "observatory_cluster_threads")
    condition = above(5, stealing, by=By.CLUSTER)
    assert spans(stored.firings(rule(condition), 50, 60, 200)) == [("", 50, 114)]
    rate = Selector(stealing, (), Function.RATE, 10)
    condition = above(1, selector=rate, by=By.CLUSTER)
    # 20 more within ten seconds, and none of them after that
    assert stored.firings(rule(condition), 0, 30, 43, 90) == [("", Firing(41, 41, 51, 2, ""))]


def test_dividing_by_a_missing_memory_limit_gives_no_data(stored: Stored) -> None:
    stored.worker("w0", limit=100)
    stored.worker("w1", limit=1000)
    stored.worker("w2", limit=0)
    for name in ("w0", "w1", "w2"):
        stored.samples({1: 90}, worker=name)
    condition = above(0.8, other=Attribute.MEMORY_LIMIT)
    assert stored.firings(rule(condition), 0, 10) == [("w0", Firing(1, 1, None, 0.9, ""))]


def test_a_metric_is_divided_by_that_of_the_same_worker_or_of_the_cluster(stored: Stored) -> None:
    for name, used in (("w0", 50), ("w1", 10)):
        stored.worker(name)
        stored.samples({1: used}, "used", name)
        stored.samples({1.5: 20}, "there", name)
    stored.samples({2: 100}, "all")
    own = above(1, "used", other=Selector("there"))
    assert stored.firings(rule(own), 0, 10) == [("w0", Firing(1.5, 1.5, None, 2.5, ""))]
    of_all = above(0.2, "used", other=Selector("all"))
    assert stored.firings(rule(of_all), 0, 10) == [("w0", Firing(2, 2, None, 0.5, ""))]


def test_dividing_by_zero_gives_no_data(stored: Stored) -> None:
    stored.samples({1: 5}, "used")
    stored.samples({1: 0, 3: 1}, "all")
    condition = above(1, "used", by=By.CLUSTER, other=Selector("all"))
    assert spans(stored.firings(rule(condition), 0, 10)) == [("", 3, None)]


def test_all_conditions_have_to_be_true_and_the_first_gives_the_value(stored: Stored) -> None:
    for name in ("w0", "w1"):
        stored.worker(name)
        stored.samples({1: 90, 6: 10}, worker=name)
    stored.samples({2: 7}, "cpu", "w1")
    stored.samples({3: 5, 5: 0}, "tasks")
    conditions = above(80), above(5, "cpu"), above(1, "tasks", by=By.CLUSTER)
    assert stored.firings(rule(*conditions), 0, 10) == [("w1", Firing(3, 3, 5, 90, ""))]


def test_an_unreported_metric_has_no_data(stored: Stored) -> None:
    assert stored.firings(rule(above(1, "nothing")), 0, 10) == []
    assert stored.firings(rule(above(1, "nothing", by=By.CLUSTER)), 0, 10) == []
    assert stored.firings(rule(above(1, "nothing", by=By.SERIES), no_data=NoData.FIRE), 0, 60) == []


def test_a_nan_sample_is_no_data(stored: Stored) -> None:
    stored.samples({1: 9, 2: float("nan"), 3: 9, 4: float("inf")}, "queue")
    condition = above(5, "queue", by=By.CLUSTER)
    assert spans(stored.firings(rule(condition), 0, 30)) == [("", 1, 2), ("", 3, 19)]


@pytest.mark.parametrize(
    ("metric", "kind"), [("memory_bytes", {"type": "used"}), ("utilization_percent", {})]
)
def test_a_sum_has_a_gpu_once_however_many_workers_share_it(
    stored: Stored, metric: str, kind: dict[str, str]
) -> None:
    metric = f"observatory_worker_gpu_{metric}"

    def sample(value: float, worker: str, **labels: str) -> None:
        series = Series(metric, tuple(sorted({**labels, **kind}.items())), worker)
        stored.write(samples=[Sample(series, START + 1, value)])

    for worker in ("w0", "w1"):
        stored.worker(worker)
        for number, value in enumerate([30, 20]):
            # a container numbers the GPUs that it has itself
            sample(value, worker, device=f"GPU-{number}", gpu=str(number) if worker == "w0" else "0")
    sample(7, "w0")  # of an unknown one
    condition = above(0, selector=Selector(metric), by=By.CLUSTER, aggregate=Aggregate.SUM)
    assert stored.firings(rule(condition), 0, 10) == [("", Firing(1, 1, None, 57, ""))]


def test_a_hot_gpu_of_a_worker_fires(stored: Stored) -> None:
    stored.worker("w0")
    quantity = QUANTITIES["gpu-temperature"]
    for number, celsius in enumerate([50, 90]):
        values = every(1, 1, 80, celsius)
        stored.samples(
            values, "observatory_worker_gpu_temperature_celsius", worker="w0", device=f"GPU-{number}"
        )
    assert isinstance(quantity.condition, MetricCondition)
    fired = stored.firings(rule(quantity.condition, hold=quantity.hold), 0, 80)
    assert [(name, firing.fired, firing.value) for name, firing in fired] == [("w0", 61, 90)]
