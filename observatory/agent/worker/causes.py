"""Describes the exceptions that led to a task's exception, and those that a group of exceptions has.

Dask's message has only the last traceback.
"""

from __future__ import annotations

import traceback
from typing import Any

from distributed.protocol import pickle

TOPIC = "observatory-causes"
"""Dask topic for them: its events arrive before the message that the task failed, as they share a stream."""
LONGEST = 10_000
"""characters of the causes, and of all members of a group"""
MOST_MEMBERS = 15
"""of a group; as many as Python prints"""
MEMBER = "\n---------------- {number} of {count} ----------------\n"
DIRECT = "\nThe above exception was the direct cause of the following exception:\n\n"
HANDLED = "\nDuring handling of the above exception, another exception occurred:\n\n"


def send_causes(worker: Any, key: Any) -> None:
    """Logs the causes and members of a failed task's exception as an event, if there are any."""
    # pickled by this process, which has read it again to check it
    error = pickle.loads(worker.state.tasks[key].exception.data)
    causes, members = describe_causes(error), describe_members(error)
    if causes or members:
        worker.log_event(TOPIC, {"key": str(key), "causes": causes, "members": members})


def describe_causes(error: BaseException) -> str:
    """The causes and contexts of `error` as Python prints them before it; "" without any."""
    if error.__cause__ is not None:
        cause, joint = error.__cause__, DIRECT
    elif error.__context__ is not None and not error.__suppress_context__:
        cause, joint = error.__context__, HANDLED
    else:
        return ""
    return _described(cause)[-LONGEST:] + joint


def describe_members(error: BaseException) -> str:
    """The exceptions of an ExceptionGroup with their tracebacks, the first MOST_MEMBERS; "" for others."""
    # Python 3.10 has no groups, but a backport
    members = getattr(error, "exceptions", None)
    if not isinstance(members, tuple | list) or not members:
        return ""
    described = [member for member in members[:MOST_MEMBERS] if isinstance(member, BaseException)]
    each = LONGEST // max(len(described), 1)
    texts = [
        MEMBER.format(number=number, count=len(members)) + _described(member)[-each:]
        for number, member in enumerate(described, 1)
    ]
    return "".join(texts)


def _described(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))
