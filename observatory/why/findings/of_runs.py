"""Looks at runs that have ended, and keeps their findings as `RunFindings`.

One process looks at one run at a time. The newest run is first, so that runs of the past don't delay new
ones. A run is marked before: one that ends the process, such as for its memory, isn't looked at for ever.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import psycopg
from django.db.models import F, Q, QuerySet

from observatory.replay.scope import Scope
from observatory.runs.finding_marks import MAIN, NO_MAIN, main_finding, marks_of
from observatory.runs.models import Run, RunExplanation, RunFindings
from observatory.runs.sharing.scopes import scope_of_run
from observatory.store.connection import build_connection, connect, is_unavailable
from observatory.store.maintenance.advisory_lock import FINDINGS, try_lock
from observatory.store.queries.windows.prefixes import prefix_names
from observatory.store.queries.windows.row_counts import has_more_spans
from observatory.store.times import MAXIMUM_TIME
from observatory.why.findings.answer import findings
from observatory.why.kept import keep
from observatory.why.window import TooManyTasks

log = logging.getLogger(__name__)
State = RunFindings.State

MOST_RUNS = 200
"""looked at in one round: those of a thousand clusters within minutes"""
BUDGET = 10.0
"""seconds, after which a round begins with no further run"""
MOST_KEPT = 20
"""findings of a run"""
MOST_ATTEMPTS = 3
LATE = timedelta(seconds=10)
"""after the end of a run, until when its figures are counted again"""
COUNTED_AGAIN = (Run.Origin.FOUND, Run.Origin.CODE)


def look_at_new_runs() -> int:
    """Look at runs that weren't looked at since their figures were counted; return their number.

    Does nothing while another process does. Raises psycopg.Error without a database.
    """
    if not waiting_runs().exists():
        return 0
    with connect() as connection, try_lock(connection, 0, FINDINGS) as is_ours:
        return _look_at_new_runs() if is_ours else 0


def _look_at_new_runs() -> int:
    given_up = RunFindings.objects.filter(state=State.LOOKING, attempts__gte=MOST_ATTEMPTS)
    given_up.update(state=State.FAILED)
    until, looked = time.monotonic() + BUDGET, 0
    for run in waiting_runs()[:MOST_RUNS]:
        look_at(run)
        looked += 1
        if time.monotonic() > until:
            break
    return looked


def waiting_runs() -> QuerySet[Run]:
    """The runs to look at, the newest first."""
    is_new = Q(findings=None) | Q(findings__counted__lt=F("counted")) | Q(findings__state=State.LOOKING)
    is_final = ~Q(origin__in=COUNTED_AGAIN) | Q(counted__gte=F("stop") + LATE)
    runs = Run.objects.filter(is_new, is_final, stop__isnull=False, counted__isnull=False)
    return runs.select_related("cluster", "findings").defer("contents").order_by("-start", "-pk")


def look_at(run: Run) -> None:
    """Replace what is kept of the findings of a run."""
    before = run.known_findings
    attempts = before.attempts if before is not None and before.counted == run.counted else 0
    _keep(run, State.LOOKING, attempts=attempts + 1)
    try:
        with build_connection() as connection:
            fields = _look(connection, run)
    except Exception as error:  # of one run, which must not keep the others waiting
        if is_unavailable(error):
            raise
        log.exception("couldn't look at run %d", run.pk)
        fields = {"state": State.FAILED}
    _keep(run, **fields)


def _keep(run: Run, state: RunFindings.State, **fields: Any) -> None:
    """Does nothing if the run was deleted meanwhile."""
    assert run.counted is not None
    empty = {"attempts": 0, "all": [], **NO_MAIN}
    if Run.objects.filter(pk=run.pk).exists():
        RunFindings.objects.update_or_create(
            run_id=run.pk, defaults={**empty, "state": state, "counted": run.counted, **fields}
        )


def _look(connection: psycopg.Connection, run: Run) -> dict[str, Any]:
    """The fields of RunFindings."""
    scope = scope_of_run(run)
    if run.tasks and not has_more_spans(connection, run.cluster_id, *scope.window, None, 0):
        return {"state": State.GONE}
    try:
        found = _found(connection, run, scope)
    except TooManyTasks:
        return {"state": State.TOO_LARGE}
    names = prefix_names(connection, run.cluster_id)
    kept = [
        {
            **{name: finding[name] for name in MAIN},
            "prefixes": [names[prefix] for prefix in finding["prefixes"] if prefix in names],
            "exception": _fact(finding, "exception"),
        }
        for finding in found[:MOST_KEPT]
    ]
    return {"all": kept, **main_finding(kept, marks_of(run))}


def _fact(finding: Mapping[str, Any], label: str) -> str:
    return next((str(fact["value"]) for fact in finding["facts"] if fact["label"] == label), "")


def _found(connection: psycopg.Connection, run: Run, scope: Scope) -> list[dict[str, Any]]:
    """The findings of a run; of a large one all answers are kept. Raises TooManyTasks."""
    try:
        answer = findings(connection, scope, 0, MAXIMUM_TIME)
        RunExplanation.objects.filter(run=run).delete()
    except TooManyTasks:
        answer = keep(connection, run, scope)
    return list(answer["findings"])
