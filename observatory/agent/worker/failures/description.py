"""Describes what Dask's message of a failed task lacks: its causes, and what was called."""

from __future__ import annotations

import contextlib
from typing import Any

from distributed.protocol import pickle

from observatory.agent.worker.failures.causes import describe_causes, describe_members
from observatory.agent.worker.failures.function import calls, function_name
from observatory.agent.worker.failures.representation import Representations

TOPIC = "observatory-failures"
"""Dask topic for them: its events arrive before the message that the task failed, as they share a stream."""


class Failures:
    """Logs the description of each failed attempt as an event."""

    def __init__(self, worker: Any, has_arguments: bool) -> None:
        self.worker = worker
        self.representations = Representations() if has_arguments else None

    def send(self, key: Any) -> None:
        task = self.worker.state.tasks[key]
        described = {"causes": "", "members": "", "function": "", "arguments": ""}
        with contextlib.suppress(Exception):
            # pickled by this process, which has read it again to check it
            error = pickle.loads(task.exception.data)
            described["causes"], described["members"] = describe_causes(error), describe_members(error)
        with contextlib.suppress(Exception):
            described["function"] = function_name(task.run_spec)
        if self.representations is not None:
            with contextlib.suppress(Exception):
                described["arguments"] = self.representations.describe(*calls(task.run_spec))
        if any(described.values()):
            self.worker.log_event(TOPIC, {"key": str(key), **described})
