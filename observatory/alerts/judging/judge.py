"""What a rule says of a cluster over a window.

A rule HOLDS where all of its conditions hold, is NOT where one of them is not, else BETWEEN. The subjects
are those of the first condition, which gives the values and texts, too. Another condition is joined to each
of them by the same series, or the same worker; one over the whole cluster to all of them. Where it has
nothing to join it is NOT.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from observatory.alerts.judging.events import counts_of
from observatory.alerts.judging.metrics import levels_of, partners
from observatory.alerts.judging.readings import Readings
from observatory.alerts.judging.steps import SECOND, Floats, Integers, Steps, groups_of, joined, times_of
from observatory.alerts.judging.verdicts import CLUSTER, Level, Subject, Verdict
from observatory.alerts.rules.conditions import AnyCondition, By, EventCondition, NoData, RuleSpec
from observatory.alerts.rules.events import RULE_EVENTS


@dataclass(frozen=True, slots=True)
class Judged:
    """What one condition says; levels and values are of the subjects by their place."""

    subjects: tuple[Subject, ...]
    levels: Steps
    values: Steps
    texts: Steps | None
    """None: there are none"""


Others = Sequence[tuple[AnyCondition, Judged]]


def judge(readings: Readings, spec: RuleSpec, standing: Collection[Subject] = ()) -> list[Verdict]:
    """The verdicts over the readings' window of the subjects that the rule holds of at some instant.

    Of those in `standing`, which have an alert that isn't resolved, there is a verdict in any case: one that
    isn't there any more (its worker left before the window) is NOT from the window's start on. What is left
    out is never HOLDS, and BETWEEN changes nothing where nothing stands.
    """
    readings.load((spec,))
    first = _judged(readings, spec.conditions[0], spec.no_data)
    holding = np.unique(groups_of(first.levels.keys[first.levels.values == Level.HOLDS])).tolist()
    if not holding and not standing:
        return []
    places = {subject: place for place, subject in enumerate(first.subjects)} if standing else {}
    standing_places = {places[subject] for subject in standing if subject in places}
    others = [(each, _judged(readings, each, spec.no_data)) for each in spec.conditions[1:]]
    found = [
        verdict
        for place in sorted({*holding, *standing_places})
        if (verdict := _verdict(readings, first, place, others)) is not None
        and (place in standing_places or (verdict.levels == Level.HOLDS).any())
    ]
    return found + [_gone(readings, subject) for subject in standing if subject not in places]


def judge_all(readings: Readings, spec: RuleSpec) -> list[Verdict]:
    """The verdicts of all subjects, those included that the rule holds of at no instant."""
    readings.load((spec,))
    first = _judged(readings, spec.conditions[0], spec.no_data)
    others = [(each, _judged(readings, each, spec.no_data)) for each in spec.conditions[1:]]
    return [_verdict(readings, first, place, others) for place in range(len(first.subjects))]


def _judged(readings: Readings, condition: AnyCondition, no_data: NoData) -> Judged:
    if isinstance(condition, EventCondition):
        counts = counts_of(readings, condition)
        return Judged(counts.subjects, counts.levels, counts.values, counts.texts)
    curve, levels = levels_of(readings, condition, no_data)
    return Judged(curve.subjects, levels, curve.steps, None)


def _verdict(
    readings: Readings, first: Judged, place: int, others: Sequence[tuple[AnyCondition, Judged]]
) -> Verdict:
    subject = first.subjects[place]
    values = first.values.of(place)
    levels = [first.levels.of(place)]
    for condition, other in others:
        partner = _partner(subject, condition, other.subjects)
        if partner is None:
            levels.append(Steps(values.keys[:1], np.array([Level.NOT], np.int8)))
        else:
            levels.append(other.levels.of(partner))
    keys = joined(values.keys, *(each.keys for each in levels))
    texts = [""] * len(keys) if first.texts is None else first.texts.of(place).at(keys).tolist()
    return Verdict(
        subject,
        _seconds(times_of(keys, readings.start)),
        np.minimum.reduce([each.at(keys) for each in levels]),
        values.at(keys),
        texts,
    )


def _partner(subject: Subject, condition: AnyCondition, others: Sequence[Subject]) -> int | None:
    """The place of what belongs to the subject among those of a condition."""
    happens = isinstance(condition, EventCondition) and RULE_EVENTS[condition.event].is_of_cluster
    if condition.by == By.CLUSTER or happens:
        subject = CLUSTER
    elif condition.by == By.WORKER:
        subject = Subject(subject.worker_id, {})
    [place] = partners((subject,), others)
    return None if place < 0 else place


def _gone(readings: Readings, subject: Subject) -> Verdict:
    start = _seconds(np.array([readings.start]))
    return Verdict(subject, start, np.array([Level.NOT], np.int8), np.array([np.nan]), [""])


def _seconds(times: Integers) -> Floats:
    return times / SECOND
