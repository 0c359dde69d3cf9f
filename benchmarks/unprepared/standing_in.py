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
    also takes away the CPU that tasks do use. Its CPU counts as used by the process, too: else tasks would
    have been ready to run, without a core.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        """of the workload: workers import it before the run, which would wait for that else"""

    def setup(self, worker: Any) -> None:
        import_module(self._module)
        measure = worker.metrics.get(TASK_THREADS)
        super().setup(worker)
        computes, used = worker.metrics[TASK_THREADS], worker.monitor.recent
        last = [0.0]

        def combined(worker: Any) -> dict[str, Any]:
            measured = measure(worker) if measure else {}
            waits = {what: seconds for what, seconds in measured.get("waits", {}).items() if what != SLEEP}
            last[0] = computes(worker)["cpu"]
            return {"cpu": measured.get("cpu", 0.0) + last[0], "waits": waits}

        worker.metrics[TASK_THREADS] = combined
        worker.monitor.recent = lambda: {**used(), "cpu": used().get("cpu", 0.0) + last[0]}
