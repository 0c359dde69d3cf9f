"""Which GPUs a worker may use: CUDA_VISIBLE_DEVICES, as CUDA reads it, and parts of GPUs (MIG)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from observatory.agent.worker.gpus.devices import MOST_DEVICES, visible_devices
from tests.support.nvml.recorded import Machine, a100_in_parts, h100, t4

MIG_A, MIG_B = (part["uuid"] for part in a100_in_parts()["parts"] if part)
A100, T4 = a100_in_parts()["uuid"], t4()["uuid"]
FIRST, SECOND = h100(0)["uuid"], h100(1)["uuid"]


@pytest.fixture
def nvml(nvml: Any, machine: Machine) -> Iterator[Any]:
    """Of a machine with two H100, an A100 in MIG mode and a T4; initialized."""
    machine.has(h100(0), h100(1), a100_in_parts(), t4())
    nvml.nvmlInit()
    yield nvml
    nvml.nvmlShutdown()


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, [FIRST, SECOND, MIG_A, T4]),
        ("", []),
        ("NoDevFiles", []),
        ("-1", []),
        ("1", [SECOND]),
        (" 3 , 0", [T4, FIRST]),
        ("0,0,1", [FIRST, SECOND]),
        ("0,-1,1", [FIRST]),
        ("0,4,1", [FIRST]),
        (T4, [T4]),
        (f"{SECOND},{T4}", [SECOND, T4]),
        ("GPU-67ad", [T4]),
        ("GPU-3c6b", []),
        ("2", [MIG_A]),
        (A100, [MIG_A]),
        (f"{MIG_B},{MIG_A}", [MIG_B, MIG_A]),
        (f"MIG-{A100}/8/0", [MIG_B]),
        (f"MIG-{A100}/9/0", []),
        ("MIG-ffff", []),
    ],
)
def test_cuda_visible_devices_is_read_as_cuda_reads_it(
    nvml: Any, visible: str | None, expected: list[str]
) -> None:
    found = visible_devices(nvml, visible)
    assert [(device.part or device.gpu).uuid for device in found] == expected


def test_a_part_names_the_gpu_that_it_is_of(nvml: Any) -> None:
    [device] = visible_devices(nvml, MIG_B)
    assert device.part is not None
    assert (device.gpu.number, device.part.number) == ("2", "2/2")
    assert (device.gpu.model, device.part.model) == (
        "NVIDIA A100-SXM4-40GB",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
    )


def test_a_lost_gpu_keeps_its_number(nvml: Any, machine: Machine) -> None:
    machine.has(h100(0, lost=True), h100(1))
    assert [device.gpu.uuid for device in visible_devices(nvml, None)] == [SECOND]
    assert [device.gpu.uuid for device in visible_devices(nvml, "0,1")] == [SECOND]


def test_names_of_an_old_pynvml_are_bytes(nvml: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nvmlDeviceGetUUID", "nvmlDeviceGetName"):
        function = getattr(nvml, name)
        monkeypatch.setattr(nvml, name, lambda handle, function=function: function(handle).encode())
    assert [device.gpu.uuid for device in visible_devices(nvml, "GPU-67ad")] == [T4]


def test_a_pynvml_without_mig_has_whole_gpus(nvml: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(nvml, "nvmlDeviceGetMigMode")
    assert [device.part for device in visible_devices(nvml, None)] == [None] * 4


def test_no_more_gpus_are_read_than_a_machine_has(nvml: Any, machine: Machine) -> None:
    machine.has(*(h100(0, uuid=f"GPU-{number}") for number in range(40)))
    assert len(visible_devices(nvml, None)) == MOST_DEVICES
