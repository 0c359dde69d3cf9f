"""What workers report of tasks that stand for some that compute."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.unprepared.tasks import FitsCompute
from observatory.agent.worker.profiles.task_threads import METRIC as TASK_THREADS
from observatory.wire.tasks.waits import SLEEP


class ComputesOrWaits(FitsCompute):
    """The CPU of tasks in `fit`, and what the agent sees other threads wait in.

    FitsCompute alone takes away what threads wait in, with the naps of `fit`: locks and requests as well. It
    also takes away the CPU that tasks do use.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        """of the workload: workers import it before the run, which would wait for that else"""

    def setup(self, worker: Any) -> None:
        import_module(self._module)
        measure = worker.metrics.get(TASK_THREADS)
        super().setup(worker)
        computes = worker.metrics[TASK_THREADS]

        def combined(worker: Any) -> dict[str, Any]:
            measured = measure(worker) if measure else {}
            waits = {what: seconds for what, seconds in measured.get("waits", {}).items() if what != SLEEP}
            return {"cpu": measured.get("cpu", 0.0) + computes(worker)["cpu"], "waits": waits}

        worker.metrics[TASK_THREADS] = combined
