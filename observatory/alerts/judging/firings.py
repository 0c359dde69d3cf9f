"""From levels to alerts: pending when the rule begins to hold, fired when it held long enough, resolved.

The one state machine, of the evaluator and of the back-test. Where a window is cut doesn't matter: what
stands at the end of one is carried into the next.

- pending from the instant at which the level becomes HOLDS;
- fired `hold` seconds later, unless the level was NOT by then: BETWEEN keeps what is pending or fired, and
  begins nothing;
- resolved at the instant at which the level becomes NOT; what was pending only is forgotten then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from observatory.alerts.judging.verdicts import Level, Verdict


@dataclass(frozen=True, slots=True)
class Standing:
    """What isn't resolved at the end of a window. Times are seconds."""

    pending: float
    fired: float | None
    value: float
    """when it fired, or before that when it became pending"""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Firing:
    """Times are seconds."""

    pending: float
    fired: float
    resolved: float | None
    """None: it isn't yet"""
    value: float
    """when it fired"""
    text: str


def advance(
    standing: Standing | None, verdict: Verdict, stop: float, hold: float
) -> tuple[list[Firing], Standing | None]:
    """What fired or was resolved in the verdict's window, which ends before `stop`; and what stands then.

    What fired and still stands comes with `resolved` None in the window in which it fired, and once more when
    it is resolved.
    """
    firings: list[Firing] = []
    for begin, end, level in _stretches(verdict, stop):
        if level is Level.HOLDS and standing is None:
            standing = Standing(begin, None, *_told(verdict, begin))
        if standing is None:
            continue
        if level is Level.NOT:
            if standing.fired is not None:
                firings.append(_firing(standing, begin))
            standing = None
        elif standing.fired is None:
            due = max(begin, _to_microseconds(standing.pending + hold))
            if due < end:
                value, text = _told(verdict, due)
                standing = replace(standing, fired=due, value=value, text=text)
    if standing is not None and standing.fired is not None and standing.fired >= verdict.times[0]:
        firings.append(_firing(standing, None))
    return firings, standing


def _stretches(verdict: Verdict, stop: float) -> Iterator[tuple[float, float, Level]]:
    """(begin, end, level) of each stretch of one level."""
    changes = np.flatnonzero(np.diff(verdict.levels, prepend=-1))
    times = [*verdict.times[changes].tolist(), stop]
    for place, level in enumerate(verdict.levels[changes].tolist()):
        yield times[place], times[place + 1], Level(level)


def _told(verdict: Verdict, time: float) -> tuple[float, str]:
    """Value and text at a time."""
    place = int(np.searchsorted(verdict.times, time, side="right")) - 1
    return float(verdict.values[place]), verdict.texts[place]


def _firing(standing: Standing, resolved: float | None) -> Firing:
    assert standing.fired is not None
    return Firing(standing.pending, standing.fired, resolved, standing.value, standing.text)


def _to_microseconds(time: float) -> float:
    """As exactly as the store keeps times, so that one that was stored is the same."""
    return round(time * 1e6) / 1e6
