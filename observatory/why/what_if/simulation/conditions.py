"""What a simulation assumes, beside its workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from observatory.why.what_if.recorded.stalls import Stall
from observatory.why.what_if.recorded.submissions import Submission
from observatory.why.what_if.simulation.locks import SimulatedLock

CLOSE = 0.05
"""seconds between two submissions, most of which sending a task takes: what submits has made no pause"""


@dataclass(frozen=True, slots=True)
class Conditions:
    seconds: Sequence[float]
    """that each computation takes, with its disk"""
    moves_data: bool = True
    has_client: bool = True
    """the client takes time from the end of all tasks until it submits more, but for actors"""
    has_actors: bool = True
    """the client waits for methods of actors before it submits more"""
    has_own_code: bool = True
    """the client's own code takes time before it submits more"""
    are_close_at_once: bool = False
    """submissions that come soon after the one before come at once, but for the client's own code"""
    stalls: Sequence[Stall] = ()
    """the first of the computations of each that would begin stalls its worker"""
    held: Mapping[int, int] = field(default_factory=dict)
    """the number of the worker that each of some computations stays with, whatever others have to do"""
    spread: frozenset[int] = frozenset()
    """computations that go to any worker, wherever their data is"""
    has_resources: bool = True
    """tasks take the resources that they require"""
    unwaited: Mapping[int, float] = field(default_factory=dict)
    """seconds after the submission before at which some come, by number: not after the end of all tasks"""
    locks: Sequence[SimulatedLock] = ()
    """that computations hold at their end; `seconds` are without that and what they waited for it"""

    def seconds_before(self, submission: Submission, is_client: bool) -> float:
        """From what it waits for until a client, or a task, submits more."""
        seconds = submission.seconds if self.has_client or not is_client else submission.actor_seconds
        if not self.has_actors:
            seconds = max(0.0, seconds - submission.actor_seconds)
        if not self.has_own_code:
            return max(0.0, seconds - submission.own_seconds)
        if self.are_close_at_once and not is_client and seconds <= CLOSE:
            return min(seconds, submission.own_seconds)
        return seconds
