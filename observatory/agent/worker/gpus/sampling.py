"""Reads the GPUs that a worker may use: memory, utilization, power and temperature, from NVML by pynvml.

NVML makes no CUDA context. Dask's own values (distributed.diagnostics.nvml) are of a worker's first GPU.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic, time
from typing import Any

from dask import config
from distributed.diagnostics import nvml as dasks

from observatory.agent.worker.gpus.devices import Device, Gpu, visible_devices
from observatory.wire.event_kinds import GPU_LOST
from observatory.wire.records import MetricType
from observatory.wire.rounding import rounded
from observatory.wire.workers.gpus import DEVICE, MODEL, NUMBER

DASKS_SETTING = "distributed.diagnostics.nvml"
"""where it is false, Dask doesn't read GPUs, and neither does the agent"""
VISIBLE = "CUDA_VISIBLE_DEVICES"
"""NVIDIA's variable"""
MOST_TIME = 0.1
"""share of the time that reading may take: where NVML is slow, GPUs are read less often"""
PAUSE_OF_LOST = 60.0
"""seconds until a lost GPU is tried again"""
MOST_KEPT = 10_000
"""rows that wait for the event loop"""
LOST = (15, 16)
"""NVML_ERROR_GPU_IS_LOST and NVML_ERROR_RESET_REQUIRED"""
GREATEST = 2.0**60
"""NVML gives the greatest number there is for some values that it doesn't know"""
GAUGE = int(MetricType.GAUGE)

Reading = tuple[str, str, Callable[[], float]]
"""metric without `observatory_worker_gpu_`, type, and what reads the value"""


class GpuLost(Exception):
    """NVML can't reach a GPU any more: it has fallen off the bus, or has to be reset."""


class Gpus:
    """Reads them in a thread: calls of NVML can hang with a broken GPU and must not block the event loop."""

    def __init__(self, worker: Any, interval: float) -> None:
        self.worker = worker
        self.count: int | None = None
        """GPUs that are read; None: not known yet"""
        self._interval = interval
        self._rows: deque[tuple[str, tuple[Any, ...]]] = deque(maxlen=MOST_KEPT)
        self._lost: dict[str, float] = {}
        """when each lost GPU is tried again (monotonic), by UUID"""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observatory-gpus", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns at once, though a call of NVML may still hang."""
        self._stopped.set()

    def rows(self, delay: float) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """New rows with their kinds. `delay`: seconds that the scheduler's clock is ahead of this one."""
        while self._rows:
            kind, (measured, *rest) = self._rows.popleft()
            yield kind, (measured + delay, *rest)

    def _run(self) -> None:
        nvml = None
        try:
            nvml = initialized_nvml()
            devices = visible_devices(nvml, os.environ.get(VISIBLE)) if nvml else []
            self.count = len(devices)
            pause = 0.0
            while devices and not self._stopped.wait(pause):
                began = monotonic()
                self._read_all(nvml, devices)
                pause = max(self._interval, (monotonic() - began) / MOST_TIME)
        except Exception:  # never disturb the worker
            self.count = 0
        finally:
            if nvml is not None:
                nvml.nvmlShutdown()  # NVML counts who uses it: Dask does, too

    def _read_all(self, nvml: Any, devices: list[Device]) -> None:
        is_read: set[str] = set()
        """whole GPUs of which two parts are visible"""
        for device in devices:
            gpu = device.gpu
            if self._lost.get(gpu.uuid, 0.0) > monotonic():
                continue
            try:
                self._read(nvml, device, gpu.uuid not in is_read)
                self._lost.pop(gpu.uuid, None)
            except GpuLost as error:
                self._report_lost(gpu, error)
            is_read.add(gpu.uuid)

    def _read(self, nvml: Any, device: Device, with_gpu: bool) -> None:
        gpu, part = device.gpu, device.part
        now = time()
        for metric, kind, value in memory_values(nvml, (part or gpu).handle):
            self._add(now, part or gpu, metric, kind, value)
        for metric, kind, read in gpu_readings(nvml, gpu.handle) if with_gpu else ():
            found = value_of(nvml, read)
            if found is not None:
                self._add(now, gpu, metric, kind, found)

    def _add(self, now: float, of: Any, metric: str, kind: str, value: float) -> None:
        labels = {DEVICE: of.uuid, NUMBER: of.number, MODEL: of.model}
        if kind:
            labels["type"] = kind
        name = f"observatory_worker_gpu_{metric}"
        series = json.dumps([name, labels, self.worker.address, GAUGE])
        self._rows.append(("sample", (now, rounded(name, float(value)), series)))

    def _report_lost(self, gpu: Gpu, error: GpuLost) -> None:
        address = self.worker.address
        if gpu.uuid not in self._lost:
            text = f"GPU {gpu.number} ({gpu.model}) of {address} can't be reached: {error}"
            detail = json.dumps({"message": text, "gpu": gpu.number, "model": gpu.model, "device": gpu.uuid})
            self._rows.append(("event", (time(), GPU_LOST, address, detail)))
        self._lost[gpu.uuid] = monotonic() + PAUSE_OF_LOST


def initialized_nvml() -> Any:
    """The module pynvml with NVML initialized; None without one, without a driver, or by Dask's setting."""
    if not config.get(DASKS_SETTING, True):
        return None
    pynvml = getattr(dasks, "pynvml", None)
    if pynvml is None:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:  # no driver, or an unfit one
        return None
    return pynvml


def memory_values(nvml: Any, handle: Any) -> Iterator[tuple[str, str, float]]:
    """(metric, type, value) of the memory of a GPU or a part: nothing where NVML doesn't know it."""
    used = value_of(nvml, lambda: memory_of(nvml, handle).used)
    total = value_of(nvml, lambda: memory_of(nvml, handle).total)
    if used is None or not total:
        return
    yield "memory_bytes", "used", used
    yield "memory_bytes", "total", total
    yield "memory_ratio", "", used / total


def memory_of(nvml: Any, handle: Any) -> Any:
    """As nvidia-smi shows it, without what the driver reserves; by old drivers, with that."""
    version = getattr(nvml, "nvmlMemory_v2", None)
    if version is not None:
        try:
            return nvml.nvmlDeviceGetMemoryInfo(handle, version=version)
        except nvml.NVMLError as error:
            if error.value in LOST:
                raise
    return nvml.nvmlDeviceGetMemoryInfo(handle)


def gpu_readings(nvml: Any, handle: Any) -> tuple[Reading, ...]:
    """What NVML has of whole GPUs only. A GPU in MIG mode has no utilization."""
    sensor = nvml.NVML_TEMPERATURE_GPU
    return (
        ("utilization_percent", "", lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu),
        ("power_watts", "used", lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000),
        ("power_watts", "limit", lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000),
        ("temperature_celsius", "", lambda: nvml.nvmlDeviceGetTemperature(handle, sensor)),
    )


def value_of(nvml: Any, read: Callable[[], Any]) -> float | None:
    """A value; None where NVML doesn't support or permit it. Raises GpuLost."""
    try:
        value = float(read())
    except nvml.NVMLError as error:
        if error.value in LOST:
            raise GpuLost(str(error)) from None
        return None
    return value if 0 <= value < GREATEST else None
