"""Describes a process's environment: versions, configuration, machine. Makes no network requests."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil
from dask import config

from observatory.agent.container import container_memory_limit
from observatory.agent.release.release_facts import release_of_process
from observatory.agent.worker.labels import labels_of_process

PACKAGES = (
    "distributed", "dask", "numpy", "pandas", "pyarrow", "tornado", "msgpack", "cloudpickle", "lz4", "zict",
    "toolz", "numba", "scipy", "xarray", "scikit-learn", "gilknocker", "prometheus-client",
)  # fmt: skip
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "scheduler": (
        "distributed.scheduler.worker-saturation", "distributed.scheduler.work-stealing",
        "distributed.scheduler.work-stealing-interval", "distributed.scheduler.allowed-failures",
        "distributed.scheduler.worker-ttl", "distributed.scheduler.unknown-task-duration",
        "distributed.scheduler.active-memory-manager.start",
    ),
    "worker": (
        "distributed.worker.memory.target", "distributed.worker.memory.spill",
        "distributed.worker.memory.pause", "distributed.worker.memory.terminate",
        "distributed.worker.memory.spill-compression",
        "distributed.worker.connections.outgoing", "distributed.worker.multiprocessing-method",
    ),
    "client": (),
}  # fmt: skip
"""Dask settings that affect performance, by the processes that use them. None of them is secret."""
UNSET = object()
"""Of a setting whose library the process has not imported."""
SHARED_SETTINGS = (
    "distributed.comm.compression", "array.chunk-size", "array.rechunk.method", "dataframe.shuffle.method",
    "dataframe.convert-string", "optimization.fuse.active",
)  # fmt: skip
"""Those that all processes use: graphs are made by clients and optimized by schedulers."""
INSTANCE_FILES = ("/sys/class/dmi/id/product_name", "/sys/class/dmi/id/sys_vendor")
INSTANCE_VARIABLES = ("INSTANCE_TYPE", "NODE_INSTANCE_TYPE", "AWS_EXECUTION_ENV", "KUBERNETES_SERVICE_HOST",
                      "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")  # fmt: skip
STARTED = 19
"""The position of the process' start after its name in /proc/self/stat. psutil rounds it to seconds."""


def describe(role: str) -> dict[str, Any]:
    """A description of this process, a scheduler, worker or client, that can be encoded as JSON."""
    return {
        "pid": os.getpid(),
        "executable": sys.executable,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
        "configuration": {
            name: value
            for name in (*SETTINGS[role], *SHARED_SETTINGS)
            if (value := config.get(name, UNSET)) is not UNSET
        },
        "release": release_of_process(),
        "labels": labels_of_process(),
        "machine": [text for path in INSTANCE_FILES if (text := _read(path))],
        "surroundings": {name: os.environ[name][:200] for name in INSTANCE_VARIABLES if name in os.environ},
        "container_memory_limit": container_memory_limit(),
    }


def process_age() -> float:
    """Seconds since the process was created."""
    try:
        ticks = float(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[STARTED])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):  # not Linux
        return time.time() - float(psutil.Process().create_time())


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()[:200]
    except OSError:
        return ""
