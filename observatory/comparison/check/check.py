"""Checks a run against earlier ones: whether it failed, took longer, or needed more memory than they did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from observatory.clusters.formatting import format_count, format_percent, format_value
from observatory.comparison.check.judging import Judgement, Verdict, judge, since_last_change
from observatory.comparison.check.pace import Pace, judge_pace
from observatory.comparison.compare import described
from observatory.comparison.findings import compared_findings
from observatory.comparison.history import MEASURES, Measure
from observatory.comparison.prefixes import compared_prefixes
from observatory.comparison.run_summary import RunWindow, TooLarge, summarize
from observatory.comparison.verdict import verdict_of
from observatory.runs.discovery.client_runs import EXCEPTION
from observatory.runs.errors.run_exceptions import exception_of, fields_of, sentence_of
from observatory.runs.finding_marks import LOOKED_AT
from observatory.runs.models import Run, RunFindings
from observatory.runs.tasks import COUNTED_AGAIN, LATE
from observatory.store.queries.timeline import snapshot

Item = dict[str, Any]

MOST_SLOWER = 20
UNTESTED = "No prefix has enough tasks in both runs to be tested."
ORDER: tuple[Verdict, ...] = ("worse", "unclear", "fine", "skipped")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may be worse by. None: this isn't checked."""

    slower: float | None = 0.1
    """share of the duration, and of the durations of a prefix's tasks"""
    memory: float | None = 0.1
    """share of the peak memory"""
    errors: int | None = 0
    """tasks that failed for good"""


def check(connection: psycopg.Connection, run: Run, earlier: Sequence[Run], limits: Limits) -> Item:
    """Checks `run`, which has ended, against `earlier` runs, newest first.

    The spans of one run at a time are in memory, about 150 bytes each.
    """
    used = _since_last_change(earlier)
    slower, pace, prefixes = _tasks(connection, run, used, limits.slower)
    found = exception_of(connection, run)
    raised = None if found is None else fields_of(found)
    criteria = [
        _outcome(run, raised, limits),
        _figure("duration", run, used, limits.slower),
        pace,
        prefixes,
        _figure("memory", run, used, limits.memory),
        _errors(run, limits),
    ]
    worst = min((each["verdict"] for each in criteria), key=ORDER.index)
    return {
        "run": described(run, RunWindow.of(run)),
        "verdict": "fine" if worst == "skipped" else worst,
        "headline": verdict_of(run, used[::-1]) if worst == "worse" else "",
        "earlier": [described(each, RunWindow.of(each)) for each in used],
        "left_out": len(earlier) - len(used),
        "criteria": criteria,
        "raised": raised,
        "slower": slower,
        "findings": _new_findings(run, used),
    }


def missing_of(run: Run) -> str:
    """What a run that is to be checked doesn't have yet: its end, its figures or its findings; "" if none."""
    if run.is_open or run.stop is None:
        return "end"
    is_late = run.origin in COUNTED_AGAIN and run.counted is not None and run.counted < run.stop + LATE
    if run.counted is None or is_late:
        return "figures"
    found = run.known_findings
    if found is None or found.state == RunFindings.State.LOOKING or found.counted < run.counted:
        return "findings"
    return ""


def _since_last_change(earlier: Sequence[Run]) -> list[Run]:
    """Of `earlier`, those since the last lasting change of their duration, newest first."""
    oldest_first = list(earlier)[::-1]
    seconds = [MEASURES["duration"].value(each) or 0.0 for each in oldest_first]
    return oldest_first[since_last_change(seconds) :][::-1]


def _criterion(name: str, verdict: Verdict, sentence: str, judgement: Judgement | None = None) -> Item:
    known = judgement or Judgement(verdict, None, None, None, None)
    return {
        "name": name,
        "verdict": verdict,
        "sentence": sentence,
        "value": None,
        "usual": known.usual,
        "ratio": known.ratio,
        "spread": known.spread,
        "noticed": known.noticed,
        "unit": "count",
    }


def _outcome(run: Run, raised: Item | None, limits: Limits) -> Item:
    if run.outcome == Run.Outcome.LOST:
        return _criterion("outcome", "worse", "The cluster was lost.")
    if run.outcome == Run.Outcome.UNSEEN:
        return _criterion("outcome", "unclear", "The end of the run was not seen.")
    if limits.errors is None:
        return _criterion("outcome", "skipped", "Errors aren't checked.")
    if said := sentence_of(run.tags.get(EXCEPTION, ""), raised):
        return _criterion("outcome", "worse", said)
    return _criterion("outcome", "fine", "The run ended.")


def _errors(run: Run, limits: Limits) -> Item:
    if limits.errors is None:
        return _criterion("errors", "skipped", "Errors aren't checked.")
    if not run.counted:
        return _criterion("errors", "unclear", "Errors aren't counted yet.")
    is_worse = run.errors > limits.errors
    failed = f"{run.errors:,} task{'' if run.errors == 1 else 's'} failed"
    allowed = f"; {limits.errors:,} may" if is_worse or limits.errors else ""
    found = _criterion("errors", "worse" if is_worse else "fine", f"{failed}{allowed}.")
    return {**found, "value": run.errors}


def _figure(name: str, run: Run, earlier: Sequence[Run], limit: float | None) -> Item:
    measure = MEASURES[name]
    if limit is None:
        return _criterion(name, "skipped", f"{measure.name} isn't checked.")
    value = measure.value(run)
    before = [known for each in reversed(earlier) if (known := measure.value(each)) is not None]
    if value is None:
        return _criterion(name, "skipped", f"{measure.name} wasn't recorded.")
    if earlier and not before:
        return _criterion(name, "skipped", f"{measure.name} of the earlier runs wasn't recorded.")
    found = judge(value, before, limit)
    sentence = _sentence(measure, value, found, len(before), limit)
    return {
        **_criterion(name, found.verdict, sentence, found),
        "value": value,
        "unit": measure.unit,
    }


def _sentence(measure: Measure, value: float, found: Judgement, count: int, limit: float) -> str:
    own = format_value(value, measure.unit)
    if found.usual is None:
        return f"{own}; there is no earlier run to compare with."
    of = f"the median of {count} runs" if count > 1 else "the one earlier run"
    said = f"{own}, {_difference(found.ratio)} {format_value(found.usual, measure.unit)}, {of}"
    if found.spread is None:
        few = "that" if count == 1 else "these"
        return f"{said}; {few} can't say how much runs vary." if found.verdict == "unclear" else f"{said}."
    varies = f"runs vary by {format_percent(found.spread)}"
    if found.verdict == "unclear":
        return f"{said}; {varies}, too much to tell."
    if found.verdict == "fine" and found.noticed is not None and found.noticed > 2 * limit:
        return f"{said}; {varies}: less than {format_percent(found.noticed)} may go unnoticed."
    return f"{said}; {varies}."


def _difference(ratio: float | None) -> str:
    if ratio is None:
        return "compared with"
    if abs(ratio - 1) < 0.0005:
        return "the same as"
    return f"{format_percent(abs(ratio - 1))} {'more' if ratio > 1 else 'less'} than"


def _tasks(
    connection: psycopg.Connection, run: Run, earlier: Sequence[Run], limit: float | None
) -> tuple[list[Item], Item, Item]:
    """The prefixes whose tasks are slower by more than the limit, and what the durations of all tasks, and
    those of prefixes, say of the run."""
    if limit is None:
        return [], *_both("skipped", "Durations of tasks aren't checked.")
    if not earlier:
        return [], *_both("unclear", "There is no earlier run to compare with.")
    try:
        with snapshot(connection):
            own, *others = (summarize(connection, each) for each in (run, *earlier))
    except TooLarge as error:
        return [], *_both("skipped", str(error))
    compared, _ = compared_prefixes(own, others)
    slower = [
        {key: each[key] for key in ("name", "ratio", "cost", "p")}
        for each in compared
        if each["verdict"] == "slower" and each["ratio"] > 1 + limit
    ]
    tested = sum(each["ratio"] is not None for each in compared)
    pace = judge_pace(own.prefixes, [each.prefixes for each in others], limit)
    return slower[:MOST_SLOWER], _pace(pace), _prefixes(slower, tested)


def _both(verdict: Verdict, sentence: str) -> tuple[Item, Item]:
    return _criterion("pace", verdict, sentence), _criterion("prefixes", verdict, sentence)


def _pace(pace: Pace | None) -> Item:
    if pace is None:
        return _criterion("pace", "skipped", UNTESTED)
    found = pace.judgement
    longer = pace.value - 1
    change = f"{format_percent(abs(longer))} {'longer' if longer > 0 else 'less long'}"
    takes = "as long" if abs(longer) < 0.0005 else change
    prefixes = (
        f"the median of {format_count(pace.prefixes)} prefixes" if pace.prefixes > 1 else "of one prefix"
    )
    runs = f"in {pace.runs} runs" if pace.runs > 1 else "in the one earlier run"
    sentence = f"Tasks take {takes} {'as' if takes == 'as long' else 'than'} {runs}, {prefixes}"
    if found.spread is not None:
        too_much = ", too much to tell" if found.verdict == "unclear" else ""
        sentence += f"; runs vary by {format_percent(found.spread)}{too_much}"
    elif found.verdict == "unclear":
        sentence += "; so few can't say how much runs vary"
    return {**_criterion("pace", found.verdict, f"{sentence}.", found), "value": pace.value}


def _prefixes(slower: Sequence[Item], tested: int) -> Item:
    name = "prefixes"
    if slower:
        first = slower[0]
        more = f", and {len(slower) - 1} more" if len(slower) > 1 else ""
        said = f"Tasks of {first['name']} take {format_percent(first['ratio'] - 1)} longer{more}."
        return _criterion(name, "worse", said)
    if not tested:
        return _criterion(name, "skipped", UNTESTED)
    prefixes = f"{format_count(tested)} prefix{'' if tested == 1 else 'es'}"
    return _criterion(name, "fine", f"Of {prefixes}, none is slower by more than tasks vary.")


def _new_findings(run: Run, earlier: Sequence[Run]) -> Item:
    """The findings of `run` that none of the earlier runs has that were looked at."""
    own = run.known_findings
    compared = [compared_findings(run, each) for each in earlier]
    known = [each["pairs"] for each in compared if each["a"] in LOOKED_AT and each["b"] in LOOKED_AT]
    all_own = own.all if own is not None else []
    new = [
        {key: finding[key] for key in ("kind", "sentence", "thread_seconds", "wall_seconds")}
        for place, finding in enumerate(all_own)
        if known and all(pairs[place]["verdict"] == "new" for pairs in known)
    ]
    return {"state": None if own is None else str(own.state), "compared": len(known), "new": new}
