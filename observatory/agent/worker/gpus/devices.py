"""The GPUs that a process may use, by CUDA_VISIBLE_DEVICES. NVML lists them: no CUDA context is made.

Source: CUDA's programming guide (environment variables), NVIDIA's guide to Multi-Instance GPUs (MIG).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

MOST_DEVICES = 16
"""of a worker that are read"""
LONGEST_NAME = 100
"""characters"""
MIG_ENABLED = 1
OLD_MIG = re.compile(r"MIG-(GPU-[^/]+)/(\d+)/(\d+)")
"""how drivers before R470 named the parts of a GPU: its UUID, the GPU instance, the compute instance"""


@dataclass(frozen=True)
class Part:
    """A MIG instance: a part of a GPU with memory of its own."""

    uuid: str
    number: str
    """`0/1`: GPU/instance"""
    model: str
    handle: Any
    instance: tuple[int, int]
    """the ids of the GPU instance and the compute instance"""


@dataclass(frozen=True)
class Gpu:
    uuid: str
    number: str
    """its place on the PCI bus among the GPUs that NVML shows"""
    model: str
    handle: Any
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Device:
    """What a process sees as one GPU: a whole one, or a part of it."""

    gpu: Gpu
    part: Part | None = None


def visible_devices(nvml: Any, visible: str | None) -> list[Device]:
    """The devices that `visible` (CUDA_VISIBLE_DEVICES; None: not set) leaves, in its order, each once.

    A GPU in MIG mode is its first part, as for CUDA. What follows a name that isn't one is left out, too.
    """
    gpus = list(_gpus(nvml))
    if visible is None:
        found = [_as_cuda_sees(gpu) for gpu in gpus if gpu is not None]
    else:
        found = list(_named(gpus, visible))
    return list(dict.fromkeys(found))[:MOST_DEVICES]


def _gpus(nvml: Any) -> Iterator[Gpu | None]:
    """All GPUs; None in the place of one that doesn't answer."""
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            uuid, model = _text(nvml.nvmlDeviceGetUUID(handle)), _text(nvml.nvmlDeviceGetName(handle))
        except nvml.NVMLError:
            yield None
            continue
        yield Gpu(uuid, str(index), model, handle, tuple(_parts(nvml, handle, index)))


def _parts(nvml: Any, handle: Any, index: int) -> Iterator[Part]:
    try:
        if nvml.nvmlDeviceGetMigMode(handle)[0] != MIG_ENABLED:
            return
        count = nvml.nvmlDeviceGetMaxMigDeviceCount(handle)
    except (nvml.NVMLError, AttributeError):  # no MIG: of the GPU, the driver, or an old pynvml
        return
    for place in range(count):
        try:
            part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place)
            uuid, model = _text(nvml.nvmlDeviceGetUUID(part)), _text(nvml.nvmlDeviceGetName(part))
            instance = nvml.nvmlDeviceGetGpuInstanceId(part), nvml.nvmlDeviceGetComputeInstanceId(part)
        except nvml.NVMLError:  # there is none in this place, or the process may not see it
            continue
        yield Part(uuid, f"{index}/{place}", model, part, instance)


def _as_cuda_sees(gpu: Gpu) -> Device:
    return Device(gpu, gpu.parts[0] if gpu.parts else None)


def _named(gpus: Sequence[Gpu | None], visible: str) -> Iterator[Device]:
    for name in visible.split(","):
        name = name.strip()
        if name.isdecimal() and int(name) < len(gpus):
            gpu = gpus[int(name)]
            if gpu is not None:
                yield _as_cuda_sees(gpu)
            continue
        device = _by_uuid([gpu for gpu in gpus if gpu is not None], name)
        if device is None:
            return
        yield device


def _by_uuid(gpus: Sequence[Gpu], name: str) -> Device | None:
    """A device by its UUID, or by the beginning of one where no other begins so."""
    if name.startswith("GPU-"):
        found = [_as_cuda_sees(gpu) for gpu in gpus if gpu.uuid.startswith(name)]
    elif old := OLD_MIG.fullmatch(name):
        instance = int(old[2]), int(old[3])
        found = [
            Device(gpu, part)
            for gpu in gpus
            for part in gpu.parts
            if gpu.uuid == old[1] and part.instance == instance
        ]
    elif name.startswith("MIG-"):
        found = [Device(gpu, part) for gpu in gpus for part in gpu.parts if part.uuid.startswith(name)]
    else:
        return None
    return found[0] if len(found) == 1 else None


def _text(value: Any) -> str:
    """Old versions of pynvml return bytes."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text[:LONGEST_NAME]
