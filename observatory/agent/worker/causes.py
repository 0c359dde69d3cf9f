"""Describes the exceptions that led to a task's exception: Dask's message has only the last traceback."""

from __future__ import annotations

import traceback
from typing import Any

from distributed.protocol import pickle

TOPIC = "observatory-causes"
"""Dask topic for them: its events arrive before the message that the task failed, as they share a stream."""
LONGEST = 10_000
DIRECT = "\nThe above exception was the direct cause of the following exception:\n\n"
HANDLED = "\nDuring handling of the above exception, another exception occurred:\n\n"


def send_causes(worker: Any, key: Any) -> None:
    """Logs the causes of a failed task's exception as an event, if there are any."""
    # pickled by this process, which has read it again to check it
    error = pickle.loads(worker.state.tasks[key].exception.data)
    if text := describe_causes(error):
        worker.log_event(TOPIC, {"key": str(key), "causes": text})


def describe_causes(error: BaseException) -> str:
    """The causes and contexts of `error` as Python prints them before it; "" without any."""
    if error.__cause__ is not None:
        cause, joint = error.__cause__, DIRECT
    elif error.__context__ is not None and not error.__suppress_context__:
        cause, joint = error.__context__, HANDLED
    else:
        return ""
    text = "".join(traceback.format_exception(type(cause), cause, cause.__traceback__))
    return text[-LONGEST:] + joint
