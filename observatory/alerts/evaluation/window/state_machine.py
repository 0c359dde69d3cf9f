"""The state machine of alerts: pending when the rule becomes true, firing after its hold time, then resolved.

The evaluator and back-tests share it. State at the end of one window is carried into the next, so it doesn't
matter where windows are cut.

- An alert is pending from the instant at which the rule becomes TRUE.
- It fires `hold` seconds later, unless the rule became FALSE before. UNCHANGED keeps a pending or firing
  alert, and starts none.
- It is resolved at the instant at which the rule becomes FALSE. A pending alert is dropped then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from observatory.alerts.evaluation.window.outcomes import Outcome, Truth


@dataclass(frozen=True, slots=True)
class ActiveAlert:
    """A pending or firing alert at the end of a window. Times are seconds."""

    pending: float
    fired: float | None
    value: float
    """when it fired; before that, when it became pending"""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Firing:
    """Times are seconds."""

    pending: float
    fired: float
    resolved: float | None
    """None: not yet"""
    value: float
    """when it fired"""
    text: str


def advance(
    active: ActiveAlert | None, outcome: Outcome, stop: float, hold: float
) -> tuple[list[Firing], ActiveAlert | None]:
    """Returns the alerts that fired or ended in the outcome's window, and the one that is active at `stop`.

    A firing alert that is still active is returned with `resolved` None in the window in which it fired, and
    again when it is resolved.
    """
    firings: list[Firing] = []
    for begin, end, truth in _stretches(outcome, stop):
        if truth is Truth.TRUE and active is None:
            active = ActiveAlert(begin, None, *_value_at(outcome, begin))
        if active is None:
            continue
        if truth is Truth.FALSE:
            if active.fired is not None:
                firings.append(_firing(active, begin))
            active = None
        elif active.fired is None:
            due = max(begin, _to_microseconds(active.pending + hold))
            if due < end:
                value, text = _value_at(outcome, due)
                active = replace(active, fired=due, value=value, text=text)
    if active is not None and active.fired is not None and active.fired >= outcome.times[0]:
        firings.append(_firing(active, None))
    return firings, active


def _stretches(outcome: Outcome, stop: float) -> Iterator[tuple[float, float, Truth]]:
    """(begin, end, truth) of each stretch of equal truth."""
    changes = np.flatnonzero(np.diff(outcome.truths, prepend=-1))
    times = [*outcome.times[changes].tolist(), stop]
    for place, truth in enumerate(outcome.truths[changes].tolist()):
        yield times[place], times[place + 1], Truth(truth)


def _value_at(outcome: Outcome, time: float) -> tuple[float, str]:
    """Value and text at a time."""
    place = int(np.searchsorted(outcome.times, time, side="right")) - 1
    return float(outcome.values[place]), outcome.texts[place]


def _firing(active: ActiveAlert, resolved: float | None) -> Firing:
    assert active.fired is not None
    return Firing(active.pending, active.fired, resolved, active.value, active.text)


def _to_microseconds(time: float) -> float:
    """Rounds as the store does, so that a stored time compares as equal."""
    return round(time * 1e6) / 1e6
