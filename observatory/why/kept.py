"""Answers for all of a run with too many tasks to be looked at meanwhile: kept once it has ended.

They are as the API has them for members of the project. findings/of_runs.py looks at such a run in Celery.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import psycopg

from observatory.replay.scope import Scope
from observatory.replay.windows.sums import recorded_part
from observatory.runs.models import Run, RunExplanation, RunFindings
from observatory.store.times import MAXIMUM_TIME
from observatory.why.critical_path.answer import critical_path
from observatory.why.findings.answer import findings
from observatory.why.thread_times.answer import thread_times
from observatory.why.window import Item, TooManyTasks

MOST_SPANS = 3_000_000
"""actions of tasks of a run that is looked at in Celery, which needs about a kilobyte of memory for each"""
NEARLY = 0.01
"""of a run, by which a window may be shorter and is still all of it"""
Name = Literal["critical-path", "thread-times", "findings"]
ANSWERS: dict[Name, Callable[[psycopg.Connection, Scope, int, int, int | None], Item]] = {
    "critical-path": critical_path,
    "thread-times": thread_times,
    "findings": findings,
}
State = RunFindings.State


class StillLooking(Exception):
    """The run is being looked at, or will be."""

    def __init__(self) -> None:
        super().__init__(
            "This run has so many tasks that it is looked at in the background. That is done some minutes "
            "after its end, as a rule."
        )


def explained(connection: psycopg.Connection, scope: Scope, name: Name, after: int, before: int) -> Item:
    """Return an answer for [after, before) (microseconds), of a large run the kept one.

    Raises StillLooking, and TooManyTasks where nothing is kept of the window.
    """
    try:
        return ANSWERS[name](connection, scope, after, before, None)
    except TooManyTasks:
        known = _kept(connection, scope, name, after, before)
        if known is None:
            raise
        return known


def keep(connection: psycopg.Connection, run: Run, scope: Scope) -> Item:
    """Look at a large run, keep the answers, and return that about its findings. Raises TooManyTasks."""
    assert run.counted is not None
    answers: dict[str, Item] = {}
    for name, answer in ANSWERS.items():
        answers[name] = answer(connection, scope, 0, MAXIMUM_TIME, MOST_SPANS)
        if not Run.objects.filter(pk=run.pk).exists():
            break
        RunExplanation.objects.update_or_create(
            run_id=run.pk, defaults={"counted": run.counted, "answers": answers}
        )
    return answers.get("findings", {"findings": []})


def _kept(connection: psycopg.Connection, scope: Scope, name: Name, after: int, before: int) -> Item | None:
    run = Run.objects.filter(pk=scope.run or 0, stop__isnull=False).select_related("findings").first()
    # what a link shows of findings depends on what it shares
    if (
        run is None
        or not _is_all(connection, scope, after, before)
        or (scope.is_public and name == "findings")
    ):
        return None
    kept = RunExplanation.objects.filter(run=run).first()
    if kept is not None and kept.counted == run.counted and name in kept.answers:
        return dict(_shown(scope, kept.answers[name]))
    looked = run.known_findings
    if looked is None or looked.counted != run.counted or looked.state == State.LOOKING:
        raise StillLooking
    return None


def _is_all(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> bool:
    first, last = recorded_part(connection, scope, 0, MAXIMUM_TIME)
    start, stop = recorded_part(connection, scope, after, before)
    return (start - first) + (last - stop) <= NEARLY * (last - first)


def _shown(scope: Scope, value: Any) -> Any:
    """An answer with its texts as the scope may show them."""
    if scope.pseudonyms is None:
        return value
    if isinstance(value, dict):
        return {name: _shown(scope, one) for name, one in value.items()}
    if isinstance(value, list):
        return [_shown(scope, one) for one in value]
    return scope.text(value) if isinstance(value, str) else value
