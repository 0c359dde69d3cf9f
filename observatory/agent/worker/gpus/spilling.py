"""How much of its GPU's results a worker of dask-cuda has moved to its host's memory.

Source: dask_cuda.device_host_file.DeviceHostFile, with buffers of zict for the GPU, the host and the disk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from time import monotonic, time
from typing import Any

from observatory.wire.records import MetricType
from observatory.wire.workers.gpus import DASK_CUDA

INTERVAL = 1.0
MOST_KEYS = 10_000
"""results of a GPU that are looked at: with more, nothing is reported"""
METRIC = "observatory_worker_gpu_spilled_bytes"
GAUGE = int(MetricType.GAUGE)


class GpuSpilling:
    def __init__(self, worker: Any) -> None:
        self.worker = worker
        self._looked_at = float("-inf")

    def rows(self, delay: float) -> Iterator[tuple[Any, ...]]:
        """New rows of kind `sample`. `delay`: seconds that the scheduler's clock is ahead of this one."""
        if monotonic() - self._looked_at < INTERVAL:
            return
        self._looked_at = monotonic()
        nbytes = spilled_bytes(self.worker.data)
        if nbytes is not None:
            series = json.dumps([METRIC, {"by": DASK_CUDA}, self.worker.address, GAUGE])
            yield time() + delay, nbytes, series


def spilled_bytes(data: Any) -> float | None:
    """Bytes of the results of a GPU in the host's memory; None where a worker's `data` doesn't tell."""
    keys = getattr(data, "device_keys", None)
    in_host = getattr(getattr(getattr(data, "host_buffer", None), "fast", None), "weights", None)
    if keys is None or in_host is None or len(keys) > MOST_KEYS:
        return None
    return float(sum(in_host[key] for key in keys if key in in_host))
