"""How far a prediction may be off."""

from __future__ import annotations

from dataclasses import dataclass

FURTHEST = 0.15
"""of the window, that a simulation without a change is off at most, to be trusted"""
FLOOR = 0.012
"""of the window: what two runs without any change differ by"""
OF_CHANGE = 0.08
"""of what a change makes different"""
OF_MISFIT = 0.5
"""of what a change makes different, times the share by which the simulation without a change is off"""


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a window would have taken: an estimate, and the interval that holds eight truths of ten. Seconds.

    tests/why/findings/test_calibration.py counts how many it holds.
    """

    seconds: float
    least: float
    most: float

    @classmethod
    def of(cls, seconds: float, observed: float, misfit: float, locked: float = 0.0) -> Predicted:
        """`misfit`: by which share the simulation without a change is off. `locked`: the share of the time of
        tasks in which they waited for locks, which are not simulated."""
        half = FLOOR * observed + (OF_CHANGE + OF_MISFIT * abs(misfit) + locked) * abs(observed - seconds)
        return cls(seconds, max(0.0, seconds - half), seconds + half)
