"""Rounds of a client: it waits for all tasks of one before it submits the next, which needs none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from observatory.why.intervals import joined
from observatory.why.records import Records
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.recorded.plan import Plan

FEWEST = 3
"""rounds of a window"""
MOST_DEPENDENT = 0.5
"""of the first tasks of a round, that need the one before: from there on it can't be submitted earlier"""


@dataclass(frozen=True, slots=True)
class ClientRound:
    """Times are microseconds."""

    number: int
    """of the submission that begins the next one"""
    start: int
    """when its last tasks were submitted"""
    stop: int
    """when its last task ended"""
    next: int
    """when the next one was submitted"""
    count: int
    """its tasks"""
    own_seconds: float
    """of the client's own code, from `start` to `next`"""


def client_rounds(plan: Plan, records: Records) -> Sequence[ClientRound]:
    """Return the rounds that the client waited for, but for the last: it had to wait for that."""
    clients = records.clients
    own_code = clients.own_code
    waiting = joined([clients.waiting, clients.times[ThreadKind.GATHERING]]).union()
    submitted, stops = plan.submitted, plan.computing.times.stop
    found: list[ClientRound] = []
    before: list[int] = []
    for number, submission in enumerate(plan.submissions):
        if submission.waits and before:
            start = int(submitted[plan.submissions[number - 1].places].max())
            stop, then = int(stops[before].max()), int(submitted[submission.places].min())
            if waiting.include(np.array([stop]))[0] and not _needs(plan, submission.places, before):
                own = own_code.clipped(start, then).union().seconds
                found.append(ClientRound(number, start, stop, then, len(before), own))
            before = []
        before += submission.places
    return found if len(found) >= FEWEST - 1 else []


def _needs(plan: Plan, places: Sequence[int], before: Sequence[int]) -> bool:
    """Whether most of the first tasks of a round need tasks of the round before."""
    own, earlier = set(places), set(before)
    firsts = [place for place in places if own.isdisjoint(plan.needs[place])]
    dependent = sum(not earlier.isdisjoint(plan.needs[place]) for place in firsts)
    return dependent >= MOST_DEPENDENT * max(len(firsts), 1)
