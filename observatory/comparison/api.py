"""REST API of the comparison of runs."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from ninja.errors import HttpError

from observatory.base.api_response import ApiResponse
from observatory.comparison.aligned_memory import MOST_RUNS, aligned_memory, runs_to_align
from observatory.comparison.check.check import Limits, check, missing_of
from observatory.comparison.check.selection import LONGEST, SelectionError, parse_selection, select
from observatory.comparison.compare import compare
from observatory.comparison.compare_workers import compare_workers, labels_of_run
from observatory.comparison.memory_over_time import Measure
from observatory.comparison.run_selection import MOST_EARLIER, runs_to_compare
from observatory.comparison.run_summary import TooLarge
from observatory.comparison.schemas import (
    AlignedMemory,
    CheckAnswer,
    Comparison,
    WorkerLabel,
    WorkersComparison,
)
from observatory.comparison.worker_groups import UnknownGroup
from observatory.runs.access import get_run
from observatory.store.connection import read_connection

router = Router(tags=["comparison"])

Ids = Annotated[
    str,
    Query(
        pattern=r"^[1-9]\d{0,8}(,[1-9]\d{0,8})*$",
        max_length=200,
        description=f"up to {MOST_RUNS} runs, separated by commas",
    ),
]
Id = Annotated[int, Query(ge=1, lt=2**31)]
Text = Annotated[str, Query(min_length=1, max_length=300)]
Off = Literal["off"]
Share = Annotated[float | Off, Query(ge=0, le=100, description="0.1 is 10 %; “off” checks nothing")]


@router.get("/runs/compare", response=Comparison)
def compare_runs(
    request: HttpRequest,
    a: Id,
    b: Annotated[int | None, Query(ge=1, lt=2**31, description="another run")] = None,
    last: Annotated[
        int | None,
        Query(ge=1, le=MOST_EARLIER, description="instead of b: this many earlier runs of the same name"),
    ] = None,
) -> HttpResponse:
    """Compares run `a` with `b`, or with the median of the `last` earlier runs of its name."""
    assert request.user.is_authenticated
    if (b is None) == (last is None):
        raise HttpError(422, "Give either b (a run) or last (a number of earlier runs) to compare a with.")
    run, others = runs_to_compare(request.user, a, b, last)
    try:
        with read_connection() as connection:
            return ApiResponse(compare(connection, run, others))
    except TooLarge as error:
        raise HttpError(422, str(error)) from None


@router.get("/runs/memory", response=AlignedMemory)
def memory_of_runs(request: HttpRequest, runs: Ids, measure: Measure = "process") -> HttpResponse:
    """The memory of all workers during each of `runs`, over the time since its start."""
    ids = [int(id) for id in runs.split(",")]
    if len(ids) > MOST_RUNS:
        raise HttpError(422, f"runs are {len(ids)}: at most {MOST_RUNS} can be aligned")
    found = runs_to_align(cast(User, request.user), ids)
    with read_connection() as connection:
        return ApiResponse(aligned_memory(connection, found, measure))


@router.get("/runs/{int:run_id}/worker-labels", response=list[WorkerLabel])
def worker_labels(request: HttpRequest, run_id: int) -> HttpResponse:
    """The labels that workers of the run have, those with several values first."""
    run = get_run(cast(User, request.user), run_id)
    with read_connection() as connection:
        return ApiResponse(labels_of_run(connection, run))


@router.get("/runs/{int:run_id}/compare-workers", response=WorkersComparison)
def compare_workers_of_run(request: HttpRequest, run_id: int, label: Text, a: Text, b: Text) -> HttpResponse:
    """Compares the workers of the run whose `label` is `a` with those whose label is `b`."""
    run = get_run(cast(User, request.user), run_id)
    try:
        with read_connection() as connection:
            return ApiResponse(compare_workers(connection, run, label, a, b))
    except (UnknownGroup, TooLarge) as error:
        raise HttpError(422, str(error)) from None


@router.get("/runs/{int:run_id}/check", response=CheckAnswer)
def check_run(
    request: HttpRequest,
    run_id: int,
    against: Annotated[
        str, Query(min_length=1, max_length=LONGEST, description="last:10, last:10 of main, run:41,42")
    ] = "last:10",
    slower: Share = 0.1,
    memory: Share = 0.1,
    errors: Annotated[int | Off, Query(ge=0, lt=2**31, description="failed tasks that are allowed")] = 0,
) -> HttpResponse:
    """Whether the run failed, took longer, or needed more memory than earlier ones."""
    user = cast(User, request.user)
    run = get_run(user, run_id)
    try:
        selection = parse_selection(against)
    except SelectionError as error:
        raise HttpError(422, f"against: {error}") from None
    missing = missing_of(run)
    if missing in ("end", "figures"):
        return ApiResponse({"missing": missing, "check": None})
    limits = Limits(
        None if slower == "off" else slower,
        None if memory == "off" else memory,
        None if errors == "off" else errors,
    )
    with read_connection() as connection:
        return ApiResponse(
            {
                "missing": missing,
                "check": check(connection, run, select(user, run, selection), limits),
            }
        )
