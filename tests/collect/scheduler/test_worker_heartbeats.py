"""Metrics that replace heartbeats while identity.json fails."""

from __future__ import annotations

import pytest

from observatory.collect.scheduler.identity import Heartbeat, Identity, WorkerIdentity
from observatory.collect.scheduler.worker_heartbeats import Heartbeats
from observatory.wire.records import MetricType, Series
from observatory.wire.rounding import rounded

ADDRESS = "tcp://10.0.0.1:4000"
Values = dict[str, float]


def scrape(samples: Values, worker: str = "") -> list[tuple[Series, float]]:
    return [(Series(metric, (), worker), value) for metric, value in samples.items()]


@pytest.fixture
def samples() -> list[tuple[str, float, float]]:
    return []


@pytest.fixture
def heartbeats(samples: list[tuple[str, float, float]]) -> Heartbeats:
    """Heartbeats of a cluster with a worker without a complete heartbeat."""
    found = Heartbeats(lambda series, time, value: samples.append((series.metric, time, value)))
    worker = WorkerIdentity(ADDRESS, "w0", "h", 2, 0, "", "", "", 1, 100.0)
    found.add_identity(Identity("", "", 0.0, 2, {ADDRESS: worker}))
    return found


def test_a_workers_load_is_derived_from_its_counters(
    heartbeats: Heartbeats, samples: list[tuple[str, float, float]]
) -> None:
    before = {"process_cpu_seconds_total": 10, "dask_worker_gil_contention_seconds_total": 1}
    heartbeats.add_worker_metrics(
        ADDRESS, scrape(before | {"dask_worker_tick_count_total": 1000}, ADDRESS), 100
    )
    assert samples == []
    after = {"process_cpu_seconds_total": 15, "dask_worker_gil_contention_seconds_total": 3}
    heartbeats.add_worker_metrics(
        ADDRESS, scrape(after | {"dask_worker_tick_count_total": 1250}, ADDRESS), 105
    )
    assert samples == [
        ("observatory_worker_cpu_percent", 105, 100),
        (gil := "observatory_worker_gil_contention_ratio", 105, rounded(gil, 0.4)),
        (loop := "observatory_worker_event_loop_interval_seconds", 105, rounded(loop, 0.02)),
    ]


def test_an_event_loop_without_ticks_was_blocked_all_the_time(
    heartbeats: Heartbeats, samples: list[tuple[str, float, float]]
) -> None:
    for time in (100, 105):
        heartbeats.add_worker_metrics(ADDRESS, scrape({"dask_worker_tick_count_total": 7}, ADDRESS), time)
    assert samples == [("observatory_worker_event_loop_interval_seconds", 105, 5)]


def test_a_restarted_process_gives_no_value_for_one_interval(
    heartbeats: Heartbeats, samples: list[tuple[str, float, float]]
) -> None:
    for time, value in ((100, 50.0), (105, 1.0), (110, 2.0)):
        heartbeats.add_worker_metrics(ADDRESS, scrape({"process_cpu_seconds_total": value}, ADDRESS), time)
    assert samples == [("observatory_worker_cpu_percent", 110, 20)]


@pytest.mark.parametrize(("first", "seen"), [(0.0, [30.0, 0.0]), (20.0, [20.0, 30.0, 0.0])])
def test_a_worker_that_registers_has_no_load_before_its_monitor_has_measured_some(
    heartbeats: Heartbeats, samples: list[tuple[str, float, float]], first: float, seen: list[float]
) -> None:
    for time, cpu in ((100.0, first), (101.0, 30.0), (102.0, 0.0)):
        values = {
            ("observatory_worker_cpu_percent", "", ""): cpu,
            ("observatory_worker_file_descriptors", "", ""): 9.0,
        }
        beat = Heartbeat(time, values, {})
        worker = WorkerIdentity(ADDRESS, "w0", "h", 2, 0, "", "", "", 1, time, heartbeat=beat)
        heartbeats.add_identity(Identity("Scheduler-1", "", 0.0, 2, {ADDRESS: worker}))
    assert [value for metric, _, value in samples if metric == "observatory_worker_cpu_percent"] == seen
    assert sum(metric == "observatory_worker_file_descriptors" for metric, _, _ in samples) == 3


def test_a_complete_heartbeat_takes_precedence(
    heartbeats: Heartbeats, samples: list[tuple[str, float, float]]
) -> None:
    heartbeat = Heartbeat(99.0, {("observatory_worker_cpu_percent", "", ""): 3.0})
    worker = WorkerIdentity(ADDRESS, "w0", "h", 2, 0, "", "", "", 1, 100.0, heartbeat=heartbeat)
    heartbeats.add_identity(Identity("Scheduler-1", "", 0.0, 2, {ADDRESS: worker}))
    for time, value in ((100, 50.0), (105, 51.0)):
        heartbeats.add_worker_metrics(ADDRESS, scrape({"process_cpu_seconds_total": value}, ADDRESS), time)
    assert [value for _, _, value in samples] == [3]


def test_task_totals_are_derived_from_the_schedulers_page(
    heartbeats: Heartbeats, samples: list[tuple[str, float, float]]
) -> None:
    states = "dask_scheduler_prefix_state_totals_total"
    page = [
        (Series(states, (("state", state), ("task_prefix_name", prefix))), count)
        for prefix in ("inc", "sum")
        for state, count in {"waiting": 9.0, "memory": 7.0, "erred": 2.0}.items()
    ]
    page += [
        (Series("dask_scheduler_tasks_compute_seconds_total", (("task_prefix_name", "inc"),)), 4.0),
        (Series("dask_scheduler_tasks_compute_seconds_total", (("task_prefix_name", "sum"),)), 2.0),
        (Series("dask_scheduler_tasks_transfer_seconds_total", (("task_prefix_name", "sum"),)), 1.0),
    ]
    heartbeats.add_scheduler_metrics(page, 100)
    assert samples == [
        ("observatory_cluster_tasks_finished_total", 100, 18),
        ("observatory_cluster_task_seconds_total", 100, 6),
        ("observatory_cluster_task_seconds_total", 100, 1),
        ("observatory_cluster_tasks_computed_total", 100, 14),
    ]
    assert {series.type for series in heartbeats.series[""].values()} == {MetricType.COUNTER}


def test_busy_threads_are_the_tasks_that_workers_compute(samples: list[tuple[str, float, float]]) -> None:
    found = Heartbeats(lambda series, time, value: samples.append((series.metric, time, value)))
    executing = ("observatory_worker_tasks", "state", "executing")

    def busy(second: int, *counts: float | None) -> float:
        """Without a count a worker's heartbeat says nothing of computing tasks: none is."""
        workers = {}
        for number, count in enumerate(counts):
            heartbeat = Heartbeat(100.0 + second, {} if count is None else {executing: count})
            address = f"tcp://10.0.0.1:{number}"
            workers[address] = WorkerIdentity(
                address, "w", "h", 2, 0, "", "", "", 1, 100.0 + second, heartbeat=heartbeat
            )
        found.add_identity(Identity("Scheduler-1", "", 0.0, 2, workers))
        found.add_sums(0, 100.0 + second)
        return [value for metric, _, value in samples if metric == "observatory_cluster_busy_threads"][-1]

    assert busy(0, 2, 1) == 3
    assert busy(1, 2, None) == 2
    assert busy(2, 1) == 1


def test_a_cluster_that_is_scaled_to_zero_has_no_memory_any_more(
    samples: list[tuple[str, float, float]],
) -> None:
    found = Heartbeats(lambda series, time, value: samples.append((series.metric, time, value)))
    values = {("observatory_worker_memory_bytes", "type", kind): 7.0 for kind in ("process", "managed")}
    address = "tcp://10.0.0.1:1"
    heartbeat = Heartbeat(100.0, values)
    worker = WorkerIdentity(address, "w", "h", 2, 9, "", "", "", 1, 100.0, heartbeat=heartbeat)
    found.add_identity(Identity("Scheduler-1", "", 0.0, 2, {address: worker}))
    found.add_sums(9, 100.0)
    found.add_identity(Identity("Scheduler-1", "", 0.0, 0, {}))
    found.forget(address)
    found.add_sums(0, 101.0)
    memory = [sample for sample in samples if sample[0] == "observatory_cluster_memory_bytes"]
    assert sorted(sample[1:] for sample in memory) == [(100.0, 7.0)] * 2 + [(101.0, 0.0)] * 2


@pytest.mark.parametrize(("interval", "present", "missing"), [(1.0, 2.5, 3.5), (5.0, 6.5, 8.5)])
def test_metrics_replace_heartbeats_that_are_later_than_the_polls_are_apart(
    heartbeats: Heartbeats, interval: float, present: float, missing: float
) -> None:
    """With many targets polls are rare: workers would be scraped every second between two of them."""
    assert heartbeats.needs_metrics(ADDRESS), "none has come yet"
    heartbeats.interval = interval
    worker = WorkerIdentity(
        ADDRESS, "w0", "h", 2, 0, "", "", "", 1, 100.0, heartbeat=Heartbeat(100.0, {}, {})
    )
    heartbeats.add_identity(Identity("Scheduler-1", "", 0.0, 2, {ADDRESS: worker}))
    came = heartbeats.states[ADDRESS].complete_at
    for seconds, is_needed in ((present, False), (missing, True)):
        heartbeats.states[ADDRESS].complete_at = came - seconds
        assert heartbeats.needs_metrics(ADDRESS) is is_needed


def test_rates_and_means_of_heartbeats_are_rounded_and_bytes_and_counts_are_not(
    heartbeats: Heartbeats, samples: list[tuple[str, float, float]]
) -> None:
    exact = {"memory_bytes": 123_456_789.0, "file_descriptors": 12_345.0, "cpu_percent": 12.3}
    measured = {
        "host_network_bytes_per_second": 1_830_912.123,
        "gil_contention_ratio": 0.123456789,
        "event_loop_interval_seconds": 0.0234567,
    }
    values = {(f"observatory_worker_{name}", "", ""): value for name, value in (exact | measured).items()}
    for time in (100.0, 101.0):
        worker = WorkerIdentity(
            ADDRESS, "w0", "h", 2, 0, "", "", "", 1, time, heartbeat=Heartbeat(time, values, {})
        )
        heartbeats.add_identity(Identity("Scheduler-1", "", 0.0, 2, {ADDRESS: worker}))
    found = {metric.removeprefix("observatory_worker_"): value for metric, _, value in samples}
    assert {name: found[name] for name in exact} == exact
    assert {name: found[name] for name in measured} == pytest.approx(measured, rel=2.0**-13)
    assert all(found[name] != value for name, value in measured.items())
