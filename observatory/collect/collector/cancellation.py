"""A task that was cancelled ends, even where a library took the exception for itself."""

from __future__ import annotations

import asyncio


def raise_if_cancelled() -> None:
    """Raises CancelledError in a task that is being cancelled.

    Before Python 3.12 asyncio.wait_for, by which redis-py sends, loses a cancellation that comes in the very
    moment in which it is done: the task would go on for ever. Not for what is done while a task ends.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
