"""What consecutive pieces of a back-test's window say of each subject, in memory that does not grow with it.

Alerts are advanced piece by piece, as the evaluator does, so that they are the same wherever the window is
cut. Of values as many steps are kept as a chart can show, once there are very many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from tsdownsample import MinMaxLTTBDownsampler

from observatory.alerts.evaluation.window.outcomes import Outcome, Subject, Truth
from observatory.alerts.evaluation.window.state_machine import ActiveAlert, Firing, advance
from observatory.alerts.evaluation.window.steps import Integers

MAX_POINTS = 2_000
"""of one subject"""
MAX_MARKED = 500
"""of these, points that begin or end a gap or have a text"""
MOST_STEPS = 3_000_000
"""of all subjects, from which on each keeps MAX_POINTS"""


@dataclass(slots=True)
class SubjectHistory:
    """One subject in all pieces so far."""

    parts: list[Outcome]
    least: float = np.inf
    greatest: float = -np.inf
    firings: dict[float, Firing] = field(default_factory=dict)
    """by the time at which they fired, in order"""
    too_short: list[float] = field(default_factory=list)
    """seconds of each stretch in which the rule was true for less than its hold time"""
    _active: ActiveAlert | None = None
    _true: ActiveAlert | None = None
    """as if the rule had no hold time"""

    @property
    def outcome(self) -> Outcome:
        """Of the whole window, with its shape."""
        return thinned(_concatenated(self.parts))

    def add(self, outcome: Outcome, stop: float, hold: float) -> int:
        """Add the outcome of a piece that ends at `stop`; returns the number of its steps."""
        self.parts.append(outcome)
        known = outcome.values[~np.isnan(outcome.values)]
        if len(known):
            self.least = min(self.least, float(known.min()))
            self.greatest = max(self.greatest, float(known.max()))
        firings, self._active = advance(self._active, outcome, stop, hold)
        self.firings |= {firing.fired: firing for firing in firings}
        fired = {firing.pending for firing in firings}
        stretches, self._true = advance(self._true, outcome, stop, 0.0)
        self.too_short += [
            stretch.resolved - stretch.pending
            for stretch in stretches
            if stretch.resolved is not None and stretch.pending not in fired
        ]
        return len(outcome.times)

    def thin(self) -> int:
        """Keep as many steps as can be shown; returns their number."""
        self.parts = [self.outcome]
        return len(self.parts[0].times)


class Gathered:
    """All subjects of consecutive pieces."""

    def __init__(self, hold: float) -> None:
        self._hold = hold
        self._found: dict[Subject, SubjectHistory] = {}
        self._start: float | None = None
        self._last: list[Outcome] = []
        """of the piece before, which lasts until one with subjects begins"""
        self._steps = 0

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Add the outcomes of the next piece."""
        if not outcomes:
            return
        start = float(outcomes[0].times[0])
        self._finish(start)
        if self._start is None:
            self._start = start
        there = {outcome.subject: outcome for outcome in outcomes}
        gone = [_nothing(subject, start) for subject in self._found if subject not in there]
        self._last = [*there.values(), *gone]

    def results(self, stop: float) -> list[SubjectHistory]:
        """The subjects of a window that ends at `stop`."""
        self._finish(stop)
        return list(self._found.values())

    def _finish(self, stop: float) -> None:
        for outcome in self._last:
            history = self._found.get(outcome.subject)
            if history is None:
                assert self._start is not None
                is_new = float(outcome.times[0]) > self._start
                before = [_nothing(outcome.subject, self._start)] if is_new else []
                history = self._found[outcome.subject] = SubjectHistory(before)
            self._steps += history.add(outcome, stop, self._hold)
        self._last = []
        if self._steps > MOST_STEPS:
            self._steps = sum(history.thin() for history in self._found.values())


def _nothing(subject: Subject, start: float) -> Outcome:
    truths = np.array([Truth.FALSE], np.int8)
    return Outcome(subject, np.array([start]), truths, np.array([np.nan]), [""])


def _concatenated(outcomes: Sequence[Outcome]) -> Outcome:
    times = np.concatenate([outcome.times for outcome in outcomes])
    truths = np.concatenate([outcome.truths for outcome in outcomes])
    values = np.concatenate([outcome.values for outcome in outcomes])
    texts = np.array([text for outcome in outcomes for text in outcome.texts], object)
    # removes the step at the start of a piece if nothing changes there
    begins = np.cumsum([len(outcome.times) for outcome in outcomes])[:-1]
    same = (values[begins] == values[begins - 1]) | (np.isnan(values[begins]) & np.isnan(values[begins - 1]))
    same &= (truths[begins] == truths[begins - 1]) & (texts[begins] == texts[begins - 1])
    kept = np.ones(len(times), bool)
    kept[begins[same]] = False
    return Outcome(outcomes[0].subject, times[kept], truths[kept], values[kept], texts[kept].tolist())


def thinned(outcome: Outcome) -> Outcome:
    """At most MAX_POINTS of its steps, which keep its shape, gaps and texts."""
    if len(outcome.times) <= MAX_POINTS:
        return outcome
    kept = np.unique(np.concatenate((_shape(outcome), _marked(outcome))))
    return Outcome(
        outcome.subject,
        outcome.times[kept],
        outcome.truths[kept],
        outcome.values[kept],
        [outcome.texts[place] for place in kept.tolist()],
    )


def _shape(outcome: Outcome) -> Integers:
    known = np.flatnonzero(np.isfinite(outcome.values))
    most = MAX_POINTS - MAX_MARKED
    if len(known) <= most:
        return known
    chosen = MinMaxLTTBDownsampler().downsample(outcome.times[known], outcome.values[known], n_out=most)
    return np.asarray(known[chosen.astype(np.int64)])


def _marked(outcome: Outcome) -> Integers:
    """Indexes at which gaps begin or end or the text changes, at most MAX_MARKED of them."""
    known = np.isfinite(outcome.values)
    texts = np.array(outcome.texts, object)
    changes = np.flatnonzero((known[1:] != known[:-1]) | (texts[1:] != texts[:-1])) + 1
    marked = np.concatenate(([0], changes))
    return marked[np.linspace(0, len(marked) - 1, min(len(marked), MAX_MARKED)).astype(np.int64)]
