"""Words that the agent's workers and the server share about GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

COUNT = "observatory_gpus"
"""among the metrics of heartbeats: how many GPUs the worker's agent reads; None: not known yet"""
DEVICE, NUMBER, MODEL = "device", "gpu", "model"
"""labels of a GPU's metrics: its UUID, its number on the machine (`0`; `0/1`: a part of it), and its name"""
LABELS = (DEVICE, NUMBER, MODEL)
USED, TOTAL, UTILIZATION = OF_MONITOR = ("gpu_memory_used", "gpu-memory-total", "gpu_utilization")
"""in heartbeats, of Dask's system monitor: all that a worker without dask-cuda has, as it initializes NVML
too late for `gpu` (distributed.worker.add_gpu_metrics)"""
CUDF, DASK_CUDA = "cudf", "dask-cuda"
"""what moves data from a GPU to its host's memory"""

Value = tuple[str, str, str, Any]
"""the metric without `observatory_worker_`, the name and the value of its label ("": none), and its value"""


def heartbeat_values(metrics: Mapping[Any, Any], told: Mapping[Any, Any]) -> Iterator[Value]:
    """What a worker with a GPU adds to its heartbeats: Dask's values of its first GPU, and RAPIDS' own.

    `told`: what the worker reported when it started. Where its agent reads all GPUs, Dask's values of one are
    left out. Nothing is checked: values may be of any type.
    """
    # users can register metrics of these names
    rmm, cudf = (_mapping(metrics.get(name)) for name in ("rmm", "cudf"))
    for kind in ("used", "total"):
        yield "rmm_memory_bytes", "type", kind, rmm.get(f"rmm-{kind}")
    yield "gpu_spilled_bytes", "by", CUDF, cudf.get("cudf-spilled")
    if COUNT in metrics and metrics[COUNT] != 0:
        return
    gpu, at_start = _mapping(metrics.get("gpu")), _mapping(told.get("gpu"))
    used = gpu.get("memory-used", metrics.get(USED))
    total = at_start.get("memory-total", metrics.get(TOTAL))
    yield "gpu_memory_bytes", "type", "used", used
    yield "gpu_memory_bytes", "type", "total", total
    if _is_number(used) and _is_number(total) and total > 0:
        yield "gpu_memory_ratio", "", "", used / total
    yield "gpu_utilization_percent", "", "", gpu.get("utilization", metrics.get(UTILIZATION))


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
