"""Describes the exceptions that led to a task's exception, and those that a group of exceptions has.

Dask's message has only the last traceback.
"""

from __future__ import annotations

import traceback

LONGEST = 10_000
"""characters of the causes, and of all members of a group"""
MOST_LINKS, FIRST_LINKS = 20, 5
"""exceptions of a chain that are described, and how many of them are the first ones"""
LONGEST_CHAIN = 1_000
MOST_MEMBERS = 15
"""of a group; as many as Python prints"""
LEFT_OUT = "\n[{count} exceptions of the chain are left out]\n\n"
MEMBER = "\n---------------- {number} of {count} ----------------\n"
DIRECT = "\nThe above exception was the direct cause of the following exception:\n\n"
HANDLED = "\nDuring handling of the above exception, another exception occurred:\n\n"


def describe_causes(error: BaseException) -> str:
    """The causes and contexts of `error` as Python prints them before it; "" without any.

    Of a long chain the first, which began it, and the last ones are described, each in its share of LONGEST.
    """
    chain = _chain(error)
    kept = chain if len(chain) <= MOST_LINKS else [*chain[:FIRST_LINKS], *chain[FIRST_LINKS - MOST_LINKS :]]
    each = LONGEST // max(len(kept), 1)
    texts = [_described(cause, chain=False)[-each:] + joint for cause, joint in kept]
    if len(kept) < len(chain):
        texts.insert(FIRST_LINKS, LEFT_OUT.format(count=len(chain) - len(kept)))
    return "".join(texts)


def _chain(error: BaseException) -> list[tuple[BaseException, str]]:
    """The exceptions that led to `error`, the first one first, each with how it led to the next."""
    found: list[tuple[BaseException, str]] = []
    known = {id(error)}
    while len(found) < LONGEST_CHAIN:
        if error.__cause__ is not None:
            cause, joint = error.__cause__, DIRECT
        elif error.__context__ is not None and not error.__suppress_context__:
            cause, joint = error.__context__, HANDLED
        else:
            break
        if id(cause) in known:
            break
        known.add(id(cause))
        found.append((cause, joint))
        error = cause
    return found[::-1]


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


def _described(error: BaseException, chain: bool = True) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__, chain=chain))
