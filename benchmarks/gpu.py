"""The GPUs of this machine as a worker reads them, against nvidia-smi, and what a reading costs.

Needs a GPU, NVIDIA's driver and nvidia-ml-py; without them it says so, and ends with 0. Run it with idle
GPUs, and with busy ones.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter, process_time

from observatory.agent.worker.gpus.devices import Device, visible_devices
from observatory.agent.worker.gpus.sampling import gpu_readings, initialized_nvml, memory_values, value_of

ROUNDS = 200
MIB = 2**20
FIELDS = {
    "memory.used": ("memory_bytes", "used", MIB, 64.0),
    "memory.total": ("memory_bytes", "total", MIB, 1.0),
    "utilization.gpu": ("utilization_percent", "", 1, 25.0),
    "power.draw": ("power_watts", "used", 1, 60.0),
    "enforced.power.limit": ("power_watts", "limit", 1, 1.0),
    "temperature.gpu": ("temperature_celsius", "", 1, 3.0),
}
"""of nvidia-smi: our metric and type, our units in one of theirs, how much may change between two readings"""
UNKNOWN = ("[N/A]", "N/A", "[Not Supported]", "[Unknown Error]")

Values = dict[tuple[str, str], float]


def read(nvml: object, device: Device) -> Values:
    found = {
        (name, kind): value for name, kind, value in memory_values(nvml, (device.part or device.gpu).handle)
    }
    for name, kind, reading in gpu_readings(nvml, device.gpu.handle):
        value = value_of(nvml, reading)
        if value is not None:
            found[name, kind] = value
    return found


def by_nvidia_smi(uuid: str) -> dict[str, float | None]:
    query = [f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits", f"--id={uuid}"]
    answer = subprocess.run(
        ["nvidia-smi", *query], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    texts = [text.strip() for text in answer.strip().split(",")]
    return {
        field: None if text in UNKNOWN else float(text) for field, text in zip(FIELDS, texts, strict=True)
    }


def differences(device: Device, ours: Values) -> Iterator[str]:
    """What differs by more than two readings of a GPU may. The memory of a GPU in parts is that of a part."""
    for field, theirs in by_nvidia_smi(device.gpu.uuid).items():
        name, kind, unit, most = FIELDS[field]
        if device.part is not None and name == "memory_bytes":
            continue
        value = ours.get((name, kind))
        print(
            f"  {field:22} nvidia-smi {theirs!s:>10}   worker {None if value is None else value / unit!s:>10}"
        )
        if (value is None) != (theirs is None):
            yield f"{field}: one of them doesn't know it"
        elif value is not None and theirs is not None and abs(value / unit - theirs) > most:
            yield f"{field}: {value / unit:.1f} and {theirs:.1f}"


def cost(nvml: object, devices: list[Device]) -> None:
    took = []
    used = process_time()
    for _ in range(ROUNDS):
        began = perf_counter()
        for device in devices:
            read(nvml, device)
        took.append(perf_counter() - began)
    used = process_time() - used
    print(
        f"a reading of {len(devices)} GPUs: median {statistics.median(took) * 1e3:.2f} ms, "
        f"most {max(took) * 1e3:.2f} ms, {used / ROUNDS * 1e3:.2f} ms of a CPU"
    )


def main() -> int:
    nvml = initialized_nvml()
    if nvml is None:
        print("There is no GPU: pynvml (nvidia-ml-py) or NVIDIA's driver is missing. Nothing was compared.")
        return 0
    devices = visible_devices(nvml, os.environ.get("CUDA_VISIBLE_DEVICES"))
    if not devices:
        print("NVML shows no GPU that this process may use (CUDA_VISIBLE_DEVICES). Nothing was compared.")
        return 0
    wrong: list[str] = []
    can_compare = shutil.which("nvidia-smi") is not None
    for device in devices:
        of = device.part or device.gpu
        print(f"GPU {of.number}: {of.model}, {of.uuid}")
        ours = read(nvml, device)
        if can_compare:
            wrong += [f"GPU {of.number}: {text}" for text in differences(device, ours)]
        else:
            print(f"  there is no nvidia-smi to compare with: {ours}")
    cost(nvml, devices)
    if not can_compare:
        print("Nothing was compared.")
    else:
        print("\n".join(["Values differ:", *wrong]) if wrong else "All values agree.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
