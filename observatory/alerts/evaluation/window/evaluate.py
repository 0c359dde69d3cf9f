"""Evaluates all conditions of a rule over a window.

A rule is TRUE where all of its conditions are, FALSE where one of them is FALSE, UNCHANGED elsewhere. The
first condition determines the subjects, values and texts. Another condition is joined to each subject by
worker or by equal labels; a condition over the whole cluster is joined to all subjects. Without a partner it
is FALSE.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from observatory.alerts.evaluation.window.bounds import holds_nowhere
from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.events import count_events
from observatory.alerts.evaluation.window.metrics import evaluate_metric, partners
from observatory.alerts.evaluation.window.outcomes import CLUSTER, Outcome, Subject, Truth
from observatory.alerts.evaluation.window.runs import evaluate_runs
from observatory.alerts.evaluation.window.steps import (
    SECOND,
    Floats,
    Integers,
    Steps,
    groups_of,
    merged_keys,
    times_of,
)
from observatory.alerts.rules.conditions import (
    AnyCondition,
    By,
    EventCondition,
    NoData,
    RuleSpec,
    RunCondition,
)
from observatory.alerts.rules.events import RULE_EVENTS


@dataclass(frozen=True, slots=True)
class ConditionOutcome:
    """The outcome of one condition. The groups of `truths` and `values` are indexes into `subjects`."""

    subjects: tuple[Subject, ...]
    truths: Steps
    values: Steps
    texts: Steps | None
    """None for conditions on metrics"""


Others = Sequence[tuple[AnyCondition, ConditionOutcome]]
"""the conditions after the first one"""


def evaluate_rule(data: WindowData, spec: RuleSpec, active: Collection[Subject] = ()) -> list[Outcome]:
    """The outcomes of the subjects for which the rule is TRUE at some time in the window.

    Subjects in `active` (those with a pending or firing alert) always have an outcome. A subject that no
    longer exists, such as a worker that left before the window, is FALSE from the start of the window on.
    """
    data.load((spec,))
    if not active and holds_nowhere(data, spec):
        return []
    first = _outcome_of(data, spec.conditions[0], spec.no_data)
    holding = np.unique(groups_of(first.truths.keys[first.truths.values == Truth.TRUE])).tolist()
    if not holding and not active:
        return []
    places = {subject: place for place, subject in enumerate(first.subjects)} if active else {}
    active_places = {places[subject] for subject in active if subject in places}
    others = [(each, _outcome_of(data, each, spec.no_data)) for each in spec.conditions[1:]]
    found = [
        outcome
        for place in sorted({*holding, *active_places})
        if (outcome := _combined(data, first, place, others)) is not None
        and (place in active_places or (outcome.truths == Truth.TRUE).any())
    ]
    return found + [_gone(data, subject) for subject in active if subject not in places]


def evaluate_all_subjects(data: WindowData, spec: RuleSpec) -> list[Outcome]:
    """The outcomes of all subjects, including those for which the rule is never TRUE."""
    data.load((spec,))
    first = _outcome_of(data, spec.conditions[0], spec.no_data)
    others = [(each, _outcome_of(data, each, spec.no_data)) for each in spec.conditions[1:]]
    return [_combined(data, first, place, others) for place in range(len(first.subjects))]


def _outcome_of(data: WindowData, condition: AnyCondition, no_data: NoData) -> ConditionOutcome:
    if isinstance(condition, EventCondition):
        counts = count_events(data, condition)
        return ConditionOutcome(counts.subjects, counts.truths, counts.values, counts.texts)
    if isinstance(condition, RunCondition):
        runs = evaluate_runs(data, condition)
        return ConditionOutcome(runs.subjects, runs.truths, runs.values, runs.texts)
    curve, truths = evaluate_metric(data, condition, no_data)
    return ConditionOutcome(curve.subjects, truths, curve.steps, None)


def _combined(data: WindowData, first: ConditionOutcome, place: int, others: Others) -> Outcome:
    subject = first.subjects[place]
    values = first.values.of(place)
    truths = [first.truths.of(place)]
    for condition, other in others:
        partner = _partner(subject, condition, other.subjects)
        if partner is None:
            truths.append(Steps(values.keys[:1], np.array([Truth.FALSE], np.int8)))
        else:
            truths.append(other.truths.of(partner))
    keys = merged_keys(values.keys, *(each.keys for each in truths))
    texts = [""] * len(keys) if first.texts is None else first.texts.of(place).at(keys).tolist()
    return Outcome(
        subject,
        _seconds(times_of(keys, data.start)),
        np.minimum.reduce([each.at(keys) for each in truths]),
        values.at(keys),
        texts,
    )


def _partner(subject: Subject, condition: AnyCondition, others: Sequence[Subject]) -> int | None:
    """The index in `others` (a condition's subjects) of the one that is joined to the subject."""
    is_of_cluster = isinstance(condition, EventCondition) and RULE_EVENTS[condition.event].is_of_cluster
    if condition.by == By.CLUSTER or is_of_cluster:
        subject = CLUSTER
    elif condition.by == By.WORKER:
        subject = Subject(subject.worker_id, {})
    [place] = partners((subject,), others)
    return None if place < 0 else place


def _gone(data: WindowData, subject: Subject) -> Outcome:
    start = _seconds(np.array([data.start]))
    return Outcome(subject, start, np.array([Truth.FALSE], np.int8), np.array([np.nan]), [""])


def _seconds(times: Integers) -> Floats:
    return times / SECOND
