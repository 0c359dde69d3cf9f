"""Ends cancelled asyncio tasks even when a library swallowed the CancelledError."""

from __future__ import annotations

import asyncio


def raise_if_cancelled() -> None:
    """Raises CancelledError when the current task has been cancelled.

    Before Python 3.12, asyncio.wait_for (used by redis-py) loses a cancellation that arrives at the instant
    it finishes, and the task would run forever. Do not call this in cleanup code of a cancelled task.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
