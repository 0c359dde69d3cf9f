"""The ids of a run's trace and spans. They are the same whenever the run is sent: a receiver overwrites."""

from __future__ import annotations

import re
from hashlib import blake2b

from observatory.runs.models import Run
from observatory.wire.client_code.runs import TRACE, TRACE_SPAN

TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
SPAN_ID = re.compile(r"(?!0{16})[0-9a-f]{16}")


class Identity:
    """The trace that a run is part of: that in which it was opened, else one of its own."""

    def __init__(self, run: Run) -> None:
        self._seed = f"{run.cluster.scheduler_id} {run.code_id or ''} {run.pk}"
        trace, parent = (str(run.tags.get(name, "")) for name in (TRACE, TRACE_SPAN))
        is_joined = TRACE_ID.fullmatch(trace) is not None
        self.trace = bytes.fromhex(trace) if is_joined else self._hash(16, "trace")
        self.parent = bytes.fromhex(parent) if is_joined and SPAN_ID.fullmatch(parent) else b""
        """the span in which the run was opened; empty: not known"""
        self.root = self._hash(8, "run")
        """the span of the run"""

    def span(self, task: int, worker: int, start: int, action: int) -> bytes:
        """The id of the span of an action of a task that began at `start` (microseconds)."""
        return self._hash(8, f"{task} {worker} {start} {action}")

    def _hash(self, size: int, text: str) -> bytes:
        return blake2b(f"{self._seed} {text}".encode(), digest_size=size).digest()
