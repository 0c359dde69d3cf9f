"""NVML as nvidia-ml-py offers it, of GPUs that a file describes: the tests' machines have none.

Functions, errors and units are those of nvidia-ml-py 13. The variable FAKE_NVML names a JSON file, which is
read again when it changes: `{"driver": true, "gpus": [...]}`. tests/support/nvml/recorded.py has GPUs.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Never

NVML_TEMPERATURE_GPU = 0
NVML_DEVICE_MIG_DISABLE, NVML_DEVICE_MIG_ENABLE = 0, 1
nvmlMemory_v2 = 0x02000028

TEXTS = {
    1: "Uninitialized",
    2: "Invalid Argument",
    3: "Not Supported",
    6: "Not Found",
    9: "Driver Not Loaded",
    12: "NVML Shared Library Not Found",
    13: "Function Not Found",
    15: "GPU is lost",
    999: "Unknown Error",
}


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(TEXTS[value])
        self.value = value


class NVMLError_Uninitialized(NVMLError): ...


class NVMLError_NotSupported(NVMLError): ...


class NVMLError_NotFound(NVMLError): ...


class NVMLError_DriverNotLoaded(NVMLError): ...


class NVMLError_LibraryNotFound(NVMLError): ...


class NVMLError_FunctionNotFound(NVMLError): ...


class NVMLError_GpuIsLost(NVMLError): ...


class NVMLError_InvalidArgument(NVMLError): ...


class NVMLError_Unknown(NVMLError): ...


CLASSES = {
    1: NVMLError_Uninitialized,
    2: NVMLError_InvalidArgument,
    3: NVMLError_NotSupported,
    6: NVMLError_NotFound,
    9: NVMLError_DriverNotLoaded,
    12: NVMLError_LibraryNotFound,
    13: NVMLError_FunctionNotFound,
    15: NVMLError_GpuIsLost,
    999: NVMLError_Unknown,
}
users = 0
"""how often NVML was initialized, less how often it was shut down"""
calls = 0


def _fail(value: int) -> Never:
    raise CLASSES[value](value)


def _machine() -> dict[str, Any]:
    global calls
    calls += 1
    if not users:
        _fail(1)
    found: dict[str, Any] = json.loads(Path(os.environ["FAKE_NVML"]).read_text())
    return found


class Handle:
    """`path`: the place of the GPU, and of the part of it."""

    def __init__(self, *path: int) -> None:
        self.path = path

    @property
    def is_part(self) -> bool:
        return len(self.path) > 1

    def values(self) -> dict[str, Any]:
        gpu: dict[str, Any] = _machine()["gpus"][self.path[0]]
        if gpu.get("lost"):
            _fail(15)
        if not self.is_part:
            return gpu
        part: dict[str, Any] | None = gpu["parts"][self.path[1]]
        return part if part is not None else _fail(6)

    def value(self, name: str) -> Any:
        values = self.values()
        return values[name] if values.get(name) is not None else _fail(3)


def nvmlInit() -> None:
    global users
    path = os.environ.get("FAKE_NVML")
    if not path:
        _fail(12)
    if not json.loads(Path(path).read_text()).get("driver", True):
        _fail(9)
    users += 1


def nvmlShutdown() -> None:
    global users
    if not users:
        _fail(1)
    users -= 1


def nvmlSystemGetDriverVersion() -> str:
    return str(_machine().get("version", "550.54.15"))


def nvmlDeviceGetCount() -> int:
    return len(_machine()["gpus"])


def nvmlDeviceGetHandleByIndex(index: int) -> Handle:
    gpus = _machine()["gpus"]
    if not 0 <= index < len(gpus):
        _fail(2)
    handle = Handle(index)
    handle.values()  # a lost GPU has no handle
    return handle


def nvmlDeviceGetHandleByUUID(uuid: str | bytes) -> Handle:
    text = uuid.decode() if isinstance(uuid, bytes) else uuid
    for index, gpu in enumerate(_machine()["gpus"]):
        if gpu["uuid"] == text:
            return Handle(index)
        for place, part in enumerate(gpu.get("parts") or []):
            if part is not None and part["uuid"] == text:
                return Handle(index, place)
    _fail(6)


def nvmlDeviceGetIndex(handle: Handle) -> int:
    return handle.path[0]


def nvmlDeviceGetUUID(handle: Handle) -> str:
    return str(handle.value("uuid"))


def nvmlDeviceGetName(handle: Handle) -> str:
    return str(handle.value("name"))


def nvmlDeviceGetMigMode(device: Handle) -> list[int]:
    if "parts" not in device.values():
        _fail(3)
    mode = int(device.values()["parts"] is not None)
    return [mode, mode]


def nvmlDeviceGetMaxMigDeviceCount(device: Handle) -> int:
    return len(device.values()["parts"] or [])


def nvmlDeviceGetMigDeviceHandleByIndex(device: Handle, index: int) -> Handle:
    handle = Handle(*device.path, index)
    handle.values()
    return handle


def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(migDevice: Handle) -> Handle:
    return Handle(migDevice.path[0])


def nvmlDeviceGetGpuInstanceId(device: Handle) -> int:
    return int(device.value("instance")[0])


def nvmlDeviceGetComputeInstanceId(device: Handle) -> int:
    return int(device.value("instance")[1])


def nvmlDeviceGetMemoryInfo(handle: Handle, version: int | None = None) -> Any:
    values = handle.values()
    total, used, reserved = values.get("total"), values.get("used"), values.get("reserved", 0)
    if total is None or used is None:
        _fail(3)
    if version is None:  # what the driver reserves counts as used
        return SimpleNamespace(total=total, used=used + reserved, free=total - used - reserved)
    if not _machine().get("memory_v2", True):
        _fail(13)
    return SimpleNamespace(
        version=version, total=total, used=used, free=total - used - reserved, reserved=reserved
    )


def nvmlDeviceGetUtilizationRates(handle: Handle) -> Any:
    if handle.is_part or handle.values().get("parts") is not None:
        _fail(3)
    return SimpleNamespace(gpu=handle.value("utilization"), memory=handle.value("memory_utilization"))


def nvmlDeviceGetPowerUsage(handle: Handle) -> int:
    return int(handle.value("power"))


def nvmlDeviceGetEnforcedPowerLimit(handle: Handle) -> int:
    return int(handle.value("power_limit"))


def nvmlDeviceGetTemperature(handle: Handle, sensor: int) -> int:
    if sensor != NVML_TEMPERATURE_GPU:
        _fail(2)
    return int(handle.value("temperature"))


def nvmlDeviceGetComputeRunningProcesses_v2(handle: Handle) -> list[Any]:
    handle.values()
    return []
