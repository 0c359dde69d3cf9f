"""GPUs that are idle while tasks work on the host, and the same runs with a busy GPU, or without one."""

from __future__ import annotations

from typing import Any

import pytest

from observatory.wire.records import Sample, Series
from tests.support.recorded_cluster import START
from tests.why.findings.kinds.test_kinds import assert_saves, first
from tests.why.findings.simulated import Simulated, Task

pytestmark = pytest.mark.django_db(transaction=True)

UTILIZATION = "observatory_worker_gpu_utilization_percent"
LOAD, TRAIN = 2.0, 1.0
"""seconds"""


def training(load: float = LOAD, batches: int = 40) -> Simulated:
    """Each batch is loaded on the host, and trained with on the GPU; a worker has one thread."""
    tasks = []
    for batch in range(batches):
        tasks += [Task(f"load-{batch}", load), Task(f"train-{batch}", TRAIN, (f"load-{batch}",))]
    return Simulated(tasks, threads=1)


def with_gpus(simulated: Simulated, busy: dict[str, float], gpus: int = 1, label: bool = True) -> Simulated:
    """Each worker's first GPU is so busy while a task of a prefix runs, else idle, as are its others."""
    for address in {span.worker for span in simulated.spans}:
        own = [span for span in simulated.spans if span.worker == address]
        for gpu in range(gpus):
            labels = (("device", f"GPU-{address}-{gpu}"), ("gpu", str(gpu))) if label else ()
            series = Series(UTILIZATION, labels, address)
            for step in range(round(simulated.makespan * 4) + 1):
                middle = START + step / 4 - 0.125
                running = [span.prefix for span in own if span.start <= middle < span.stop]
                value = max((busy.get(prefix, 0.0) for prefix in running), default=0.0)
                sample = Sample(series, START + step / 4, value if gpu == 0 else 0.0)
                simulated.samples.append(sample)
    return simulated


def fact(finding: dict[str, Any], label: str) -> str:
    [value] = [each["value"] for each in finding["facts"] if each["label"] == label]
    return str(value)


def test_gpus_that_wait_for_loading_save_what_they_could_do_meanwhile() -> None:
    seeded = with_gpus(training(), {"train": 95.0})
    finding = first(seeded.findings(), "gpu-idle")
    assert (
        "The GPUs of 4 workers were idle for 68 % of the time in which tasks ran there" in finding["sentence"]
    )
    assert "meanwhile tasks of load worked on the host for 1 min" in finding["sentence"]
    # loading takes twice as long as training: half of it could have happened while the GPU trained
    assert_saves(finding, seeded, training(load=LOAD - TRAIN))
    assert fact(finding, "GPU busy while train ran") == "95 %"
    assert fact(finding, "GPU busy while load ran") in ("0 %", "< 0.1 %")
    assert {task["key"].split("-")[0] for task in finding["tasks"]} == {"load"}


def test_utilization_without_the_agent_is_of_the_first_gpu_and_tells_the_same() -> None:
    assert first(with_gpus(training(), {"train": 95.0}, label=False).findings(), "gpu-idle")


def test_gpus_that_the_work_does_not_use_are_left_out() -> None:
    """A worker without CUDA_VISIBLE_DEVICES sees all GPUs of its machine."""
    finding = first(with_gpus(training(), {"train": 95.0}, gpus=4).findings(), "gpu-idle")
    assert fact(finding, "GPU busy while train ran") == "95 %"


@pytest.mark.parametrize(
    ("load", "busy"),
    [
        (LOAD, {"train": 95.0, "load": 90.0}),  # loading is done on the GPU
        (0.5, {"train": 95.0}),  # it is busy two thirds of the time
        (LOAD, {"train": 0.0}),  # nothing uses it
        (LOAD, {"train": 30.0, "load": 20.0}),  # it shows a desktop
    ],
)
def test_a_gpu_that_is_busy_or_not_used_has_no_finding(load: float, busy: dict[str, float]) -> None:
    assert with_gpus(training(load), busy).findings() == []


def test_a_gpu_that_is_busy_when_no_task_runs_tells_nothing() -> None:
    """Others use it: the work doesn't."""
    seeded = training()
    series = Series(UTILIZATION, (("device", "GPU-0"),), "tcp://10.0.0.0:4000")
    seeded.samples += [Sample(series, START + step / 4, 0.0) for step in range(round(seeded.makespan * 4))]
    seeded.samples.append(Sample(series, START + seeded.makespan + 0.5, 99.0))
    assert seeded.findings() == []


def test_without_samples_and_with_few_of_them_nothing_is_said() -> None:
    assert training().findings() == []
    seeded = with_gpus(training(), {"train": 95.0})
    seeded.samples = [sample for sample in seeded.samples if sample.time < START + 3]
    assert seeded.findings() == []


def test_a_part_of_a_gpu_does_not_tell_how_busy_it_is() -> None:
    seeded = training()
    series = Series("observatory_worker_gpu_memory_bytes", (("device", "MIG-0"),), "tcp://10.0.0.0:4000")
    seeded.samples += [Sample(series, START + step, 1e9) for step in range(round(seeded.makespan))]
    assert seeded.findings() == []


def test_short_tasks_between_samples_are_told_apart_as_far_as_samples_do() -> None:
    """Loading for 0.2 s and training for 0.1 s: a sample is of both, and both are beside an idle GPU."""
    tasks = []
    for batch in range(400):
        tasks += [Task(f"load-{batch}", 0.2), Task(f"train-{batch}", 0.1, (f"load-{batch}",))]
    seeded = Simulated(tasks, threads=1)
    for worker in range(4):
        seeded.sample(UTILIZATION, 33.0, 0, seeded.makespan, worker=worker, device=f"GPU-{worker}")
        seeded.sample(UTILIZATION, 60.0, 1, 1, worker=worker, device=f"GPU-{worker}")
    finding = first(seeded.findings(), "gpu-idle")
    assert "67 % of the time" in finding["sentence"]
