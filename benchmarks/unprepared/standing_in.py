"""What workers report of tasks that stand for some that compute."""

from __future__ import annotations

from typing import Any

from benchmarks.unprepared.tasks import FitsCompute
from observatory.agent.worker.task_threads import METRIC as TASK_THREADS
from observatory.wire.task_waits import SLEEP


class ComputesOrWaits(FitsCompute):
    """The CPU of tasks in `fit`, and what the agent sees other threads wait in.

    FitsCompute alone takes away what threads wait in, with the naps of `fit`: locks and requests as well.
    """

    def setup(self, worker: Any) -> None:
        measure = worker.metrics.get(TASK_THREADS)
        super().setup(worker)
        computes = worker.metrics[TASK_THREADS]

        def combined(worker: Any) -> dict[str, Any]:
            waits = dict((measure(worker) if measure else {}).get("waits", {}))
            waits.pop(SLEEP, None)
            return {**computes(worker), "waits": waits}

        worker.metrics[TASK_THREADS] = combined
