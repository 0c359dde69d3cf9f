"""What a back-test needs of archived records: scans find it in their files."""

from __future__ import annotations

from collections.abc import Iterator

from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.steps import SECOND
from observatory.alerts.rules.conditions import (
    Comparison,
    EventCondition,
    MetricCondition,
    NoData,
    RuleSpec,
    RunCondition,
)
from observatory.alerts.rules.events import ERRORS, LOGS, RULE_EVENTS
from observatory.store.archive.scans.conditions import AtLeast, Condition, OneOf
from observatory.store.series.sample_intervals import SENT_ON_CHANGE
from observatory.store.times import from_microseconds


def scanned_conditions(data: WindowData, spec: RuleSpec) -> dict[str, Condition]:
    """The records, by kind, that an evaluation of a rule over a window reads.

    Rules on runs read the errors of other windows, by scans of their own (window/runs.py).
    """
    if any(isinstance(each, RunCondition) for each in spec.conditions):
        return {}
    found = dict(_events(data, spec))
    if (samples := wanted_samples(data, spec)) is not None:
        found["sample"] = samples
    return found


def wanted_samples(data: WindowData, spec: RuleSpec) -> Condition | None:
    """The samples among them; without a start where the last one before the window can be of any time."""
    wanted = dict(data.wanted(spec.conditions))
    if not wanted:
        return None
    metrics = OneOf(("metric",), frozenset(wanted))
    looks_back = spec.no_data != NoData.RESOLVE or any(
        isinstance(each, MetricCondition) and each.comparison is Comparison.ABSENT for each in spec.conditions
    )
    is_endless = looks_back or SENT_ON_CHANGE.intersection(wanted)
    since = None if is_endless else min(since for _, since in data.wanted(spec.conditions))
    start = None if since is None else from_microseconds(since)
    return Condition((metrics,), start, from_microseconds(data.stop))


def _events(data: WindowData, spec: RuleSpec) -> Iterator[tuple[str, Condition]]:
    conditions = [each for each in spec.conditions if isinstance(each, EventCondition)]
    sources = {source for each in conditions for source in RULE_EVENTS[each.event].sources}
    stop = from_microseconds(data.stop)
    longest = max((round(each.window * SECOND) for each in conditions), default=0)
    start = from_microseconds(data.start - longest)
    if ERRORS in sources:
        yield "error", Condition((), start, stop)
    if LOGS in sources:
        level = min(each.level for each in conditions if LOGS in RULE_EVENTS[each.event].sources)
        yield "log", Condition((AtLeast("level", level),), start, stop)
    if sources - {ERRORS, LOGS}:
        yield "event", Condition((), None, stop)  # what was before the window can last into it
