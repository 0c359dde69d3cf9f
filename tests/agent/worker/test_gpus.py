"""What is recorded of a worker's GPUs: each value that NVML has, and nothing where it has none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import zict
from dask import config
from distributed import Client, LocalCluster

import observatory.agent
from observatory.agent.worker.gpus import sampling as module
from observatory.agent.worker.gpus.sampling import Gpus, initialized_nvml
from observatory.agent.worker.gpus.spilling import MOST_KEYS, spilled_bytes
from observatory.wire.rounding import rounded
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server
from tests.support.nvml.recorded import FOLDER, MIB, Machine, a100_in_parts, h100, t4

ADDRESS = "tcp://10.0.0.1:4000"
OF_GPUS = "observatory_worker_gpu_"
Values = dict[tuple[str, str, str], float]
"""by metric, the number of the GPU and type"""


class Reading:
    """The GPUs of a worker, read in this process until the rows that are wanted are there."""

    def __init__(self) -> None:
        self.gpus = Gpus(SimpleNamespace(address=ADDRESS), 0.01)
        self.samples: list[tuple[Any, ...]] = []
        self.events: list[tuple[Any, ...]] = []
        self.gpus.start()

    def take(self) -> None:
        for kind, row in self.gpus.rows(0.0):
            (self.events if kind == "event" else self.samples).append(row)

    @property
    def values(self) -> Values:
        """The last ones."""
        self.take()
        return values_of((value, series) for _, value, series in self.samples)

    def is_over(self) -> bool:
        return not self.gpus._thread.is_alive()


def values_of(rows: Any) -> Values:
    found = {}
    for value, series in rows:
        metric, labels, *_ = json.loads(series)
        if metric.startswith(OF_GPUS):
            found[metric.removeprefix(OF_GPUS), labels.get("gpu", ""), labels.get("type", "")] = value
    return found


@pytest.fixture
def reading(nvml: Any) -> Iterator[Any]:
    """A function that begins to read."""
    begun = []

    def begin() -> Reading:
        begun.append(Reading())
        return begun[-1]

    yield begin
    for each in begun:
        each.gpus.stop()
        eventually(each.is_over)


def test_all_gpus_are_read_with_what_nvml_knows_of_each(reading: Any, machine: Machine) -> None:
    machine.has(h100(), a100_in_parts(), t4())
    read = reading()
    expected = {
        ("memory_bytes", "0", "used"): 40_000 * MIB,
        ("memory_bytes", "0", "total"): 81_559 * MIB,
        ("memory_ratio", "0", ""): 40_000 / 81_559,
        ("utilization_percent", "0", ""): 93,
        ("power_watts", "0", "used"): 512.345,
        ("power_watts", "0", "limit"): 700,
        ("temperature_celsius", "0", ""): 61,
        # the part that CUDA would use; power and temperature are those of the whole GPU
        ("memory_bytes", "1/0", "used"): 1_000 * MIB,
        ("memory_bytes", "1/0", "total"): 4_864 * MIB,
        ("memory_ratio", "1/0", ""): 1_000 / 4_864,
        ("power_watts", "1", "used"): 87,
        ("power_watts", "1", "limit"): 400,
        ("temperature_celsius", "1", ""): 33,
        # no power and no limit
        ("memory_bytes", "2", "used"): 8_192 * MIB,
        ("memory_bytes", "2", "total"): 15_360 * MIB,
        ("memory_ratio", "2", ""): 8_192 / 15_360,
        ("utilization_percent", "2", ""): 37,
        ("temperature_celsius", "2", ""): 48,
    }
    eventually(lambda: read.values.keys() >= expected.keys())
    assert read.values == {
        names: rounded(f"observatory_worker_gpu_{names[0]}", value) for names, value in expected.items()
    }
    assert read.gpus.count == 3
    labels = json.loads(read.samples[0][2])[1]
    assert labels["device"] == h100()["uuid"]
    assert labels["model"] == "NVIDIA H100 80GB HBM3"


def test_values_follow_the_gpu(reading: Any, machine: Machine) -> None:
    machine.has(h100(utilization=93))
    read = reading()
    eventually(lambda: read.values.get(("utilization_percent", "0", "")) == 93)
    machine.has(h100(utilization=0))
    eventually(lambda: read.values[("utilization_percent", "0", "")] == 0)


def test_two_parts_of_one_gpu_share_its_power(
    reading: Any, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    uuids = ",".join(part["uuid"] for part in a100_in_parts()["parts"] if part)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", uuids)
    machine.has(a100_in_parts())
    read = reading()
    eventually(lambda: ("memory_ratio", "0/2", "") in read.values)
    read.gpus.stop()
    eventually(read.is_over)
    read.take()
    counts = Counter(tuple(json.loads(series)[1].items()) for _, _, series in read.samples)
    of_whole = [count for labels, count in counts.items() if dict(labels)["gpu"] == "0"]
    of_parts = [count for labels, count in counts.items() if dict(labels)["gpu"] != "0"]
    assert len(of_parts) == 2 * len({"used", "total", "share"})
    assert set(of_whole) == set(of_parts)


def test_a_driver_without_the_new_form_of_memory_has_the_old_one(reading: Any, machine: Machine) -> None:
    machine.has(t4(), memory_v2=False)
    read = reading()
    used = (8_192 + 449) * MIB  # with what the driver reserves
    eventually(lambda: read.values.get(("memory_bytes", "0", "used")) == used)


def test_a_gpu_without_memory_of_its_own_has_no_value_of_it(reading: Any, machine: Machine) -> None:
    machine.has(h100(total=None, used=None))
    read = reading()
    eventually(lambda: ("temperature_celsius", "0", "") in read.values)
    assert not [name for name in read.values if name[0].startswith("memory")]


def test_a_number_that_stands_for_unknown_is_no_value(reading: Any, machine: Machine) -> None:
    machine.has(h100(used=2**64 - 1))
    read = reading()
    eventually(lambda: ("temperature_celsius", "0", "") in read.values)
    assert not [name for name in read.values if name[0].startswith("memory")]


def test_a_lost_gpu_is_told_once_and_its_neighbour_is_read_on(
    reading: Any, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE_OF_LOST", 0.05)
    machine.has(h100(0), h100(1))
    read = reading()
    eventually(lambda: ("temperature_celsius", "1", "") in read.values)
    machine.has(h100(0, lost=True), h100(1, temperature=70))
    eventually(lambda: read.values[("temperature_celsius", "1", "")] == 70 and read.events)
    read.samples.clear()
    eventually(lambda: len({time for time, _, _ in (read.take() or read.samples)}) > 20)
    assert {name[1] for name in read.values} == {"1"}
    [(_, kind, worker, detail)] = read.events
    assert (kind, worker) == ("gpu-lost", ADDRESS)
    assert json.loads(detail)["message"] == (
        f"GPU 0 (NVIDIA H100 80GB HBM3) of {ADDRESS} can't be reached: GPU is lost"
    )
    machine.has(h100(0, temperature=35), h100(1))  # it was reset
    eventually(lambda: read.values.get(("temperature_celsius", "0", "")) == 35)


def test_slow_readings_come_less_often(
    reading: Any, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_TIME", 1e-9)
    machine.has(h100())
    read = reading()
    eventually(lambda: ("temperature_celsius", "0", "") in read.values)
    before = len(read.samples)
    assert not read.gpus._stopped.wait(0.2)  # twenty times the interval
    read.take()
    assert len(read.samples) == before


@pytest.mark.parametrize("driver", [False, True])
def test_nothing_is_read_without_a_driver_or_by_dasks_own_setting(
    reading: Any, machine: Machine, driver: bool
) -> None:
    machine.has(h100(), driver=driver)
    with config.set({"distributed.diagnostics.nvml": not driver}):
        read = reading()
        eventually(read.is_over)
    assert read.gpus.count == 0
    assert read.values == {}


def test_nothing_is_read_without_pynvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.diagnostics.nvml.pynvml", None)
    assert initialized_nvml() is None


def test_nvml_is_shut_down_as_often_as_it_was_initialized(reading: Any, machine: Machine, nvml: Any) -> None:
    machine.has(h100())
    nvml.nvmlInit()  # Dask's
    read = reading()
    eventually(lambda: nvml.users == 2)
    read.gpus.stop()
    eventually(read.is_over)
    assert nvml.users == 1


class DeviceHostFile:
    """What `worker.data` of dask-cuda has in common with this: buffers of zict, and the keys of the GPU."""

    def __init__(self, device: int, host: int) -> None:
        self.device_keys: set[str] = set()
        self.host_buffer = zict.Buffer({}, {}, host, weight=lambda key, value: value)
        self.device_buffer = zict.Buffer({}, self.host_buffer, device, weight=lambda key, value: value)


def test_results_that_dask_cuda_moved_to_the_host_are_counted() -> None:
    data = DeviceHostFile(device=100, host=100)
    for number in range(4):
        data.device_keys.add(f"x-{number}")
        data.device_buffer[f"x-{number}"] = 40
    data.host_buffer["not of a GPU"] = 10
    assert spilled_bytes(data) == 80
    data.host_buffer["more"] = 40  # which moves one of them on to the disk
    assert spilled_bytes(data) == 40
    del data.device_buffer["x-1"]
    data.device_keys.remove("x-1")
    assert spilled_bytes(data) == 0
    data.device_keys |= {str(number) for number in range(MOST_KEYS)}
    assert spilled_bytes(data) is None
    assert spilled_bytes({}) is None


@pytest.mark.parametrize(("visible", "numbers"), [(None, {"0", "1"}), ("1", {"1"})])
def test_workers_report_their_gpus_instead_of_dasks_first_one(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, visible: str | None, numbers: set[str]
) -> None:
    machine.has(h100(0, utilization=20), h100(1, utilization=80))
    monkeypatch.setenv("FAKE_NVML", str(machine.path))
    monkeypatch.syspath_prepend(str(FOLDER))  # workers have the path of this process
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with (
        fake_server() as received,
        config.set({"distributed.worker.multiprocessing-method": "spawn"}),  # to import pynvml anew
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval="100ms")
        # Dask reads the first one itself
        eventually(
            lambda: all("gpu_utilization" in worker.metrics for worker in cluster.scheduler.workers.values())
        )

        def of_workers() -> dict[str, set[str]]:
            return {address: {number for _, number, _ in _values(received, address)} for address in addresses}

        addresses = list(cluster.scheduler.workers)
        eventually(lambda: of_workers() == dict.fromkeys(addresses, numbers))
        assert _values(received, addresses[0])[("utilization_percent", "1", "")] == 80


def _values(received: FakeServer, worker: str) -> Values:
    samples = [(row["value"], row["series"]) for row in received.rows["sample"]]
    return values_of((value, series) for value, series in samples if json.loads(series)[2] == worker)
