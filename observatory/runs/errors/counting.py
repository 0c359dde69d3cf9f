"""Counts the errors of a run by exception and place in the code, and keeps them as `RunError`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from observatory.runs.errors.places import Place, place_of
from observatory.runs.errors.run_exceptions import exception_of, is_of_task
from observatory.runs.models import Run, RunError
from observatory.runs.other_work import other_work_of
from observatory.runs.refresh import end_of
from observatory.store.connection import read_connection
from observatory.store.queries.windows.errors.error_places import (
    TracedErrors,
    WorkerDeath,
    traced_errors,
    worker_deaths,
)
from observatory.store.queries.windows.errors.run_exceptions import RunException

MOST_KINDS = 200
"""of a run: those with the most errors"""
OF_CODE = "code of the run"
"""the place of what the code of a run raised, where its traceback has none"""
LONGEST_MESSAGE, LONGEST_TYPE, LONGEST_PREFIX = 500, 200, 200


def count_errors_of_run(run: Run) -> None:
    """Replaces what is kept of the errors of a run."""
    window = (run.start, end_of(run))
    with read_connection() as connection:
        others = other_work_of(connection, run, window[1])
        merged = merge(traced_errors(connection, run.cluster_id, *window, others))
        made = [
            RunError(
                run=run,
                **kind,
                deaths=deaths_of(worker_deaths(connection, run.cluster_id, workers, *window))
                if kind["killed"]
                else {},
            )
            for kind, workers in merged[:MOST_KINDS]
        ]
        raised = exception_of(connection, run)
    if raised is not None and not any(is_of_task(raised, kind) for kind, _ in merged):
        made.append(RunError(run=run, **kind_of_code(run, raised)))
    with transaction.atomic():
        run.error_kinds.all().delete()
        RunError.objects.bulk_create(made)


def merge(found: Iterable[TracedErrors]) -> list[tuple[dict[str, Any], list[str]]]:
    """The fields of RunError of each kind, and the addresses of its workers; the most errors first."""
    kinds: dict[tuple[str, str], list[tuple[TracedErrors, Place]]] = {}
    for errors in found:
        place = place_of(errors.traceback)
        # an error without a traceback, such as of a task whose workers died, is of its prefix
        key = place.key or f"prefix {errors.prefix}"
        kinds.setdefault((errors.exception_type[:LONGEST_TYPE], key), []).append((errors, place))
    merged = [(_kind(type, place, parts), _workers(parts)) for (type, place), parts in kinds.items()]
    return sorted(merged, key=lambda each: (-each[0]["count"], each[0]["exception_type"]))


def _kind(exception_type: str, key: str, parts: list[tuple[TracedErrors, Place]]) -> dict[str, Any]:
    last, place = max(parts, key=lambda part: part[0].last)
    most, _ = max(parts, key=lambda part: part[0].count)
    return {
        "exception_type": exception_type,
        "place": key,
        "function": place.function,
        "file": place.file,
        "line": place.line,
        "prefix": most.prefix[:LONGEST_PREFIX],
        "count": sum(errors.count for errors, _ in parts),
        "retried": sum(errors.retried for errors, _ in parts),
        "killed": sum(errors.killed for errors, _ in parts),
        "first": min(errors.first for errors, _ in parts),
        "last": last.last,
        "last_id": last.id,
        "message": last.message[:LONGEST_MESSAGE],
    }


def kind_of_code(run: Run, raised: RunException) -> dict[str, Any]:
    """The fields of RunError of what ended the code of a run. It is of no prefix, and its id is the run's."""
    place = place_of(raised.traceback)
    return {
        "exception_type": raised.exception_type[:LONGEST_TYPE],
        "place": place.key or OF_CODE,
        "function": place.function,
        "file": place.file,
        "line": place.line,
        "prefix": "",
        "count": 1,
        "retried": 0,
        "killed": 0,
        "first": raised.time,
        "last": raised.time,
        "last_id": run.code_id,
        "message": raised.message[:LONGEST_MESSAGE],
    }


def _workers(parts: list[tuple[TracedErrors, Place]]) -> list[str]:
    return list(dict.fromkeys(address for errors, _ in parts for address in errors.workers))


def deaths_of(deaths: Iterable[WorkerDeath]) -> dict[str, Any]:
    """How many workers died, of these by their nanny because of memory, and the share of the limit then."""
    found = list(deaths)
    shares = [death.share for death in found if death.by_memory and death.share is not None]
    return {
        "workers": len(found),
        "by_memory": sum(death.by_memory for death in found),
        "share": max(shares, default=None),
    }
