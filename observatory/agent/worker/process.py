"""Names this process: workers that report the same name share it."""

from __future__ import annotations

import os
from typing import Any
from uuid import uuid4

METRIC = "observatory_process"
"""among the metrics of heartbeats (Worker.metrics)"""
_OF_MODULE = uuid4().hex[:16]


def name_of_process(worker: Any = None) -> str:
    """A pid alone isn't unique among containers, and a forked process has the same module."""
    return f"{os.getpid()}-{_OF_MODULE}"
