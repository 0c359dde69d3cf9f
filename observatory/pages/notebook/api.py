"""The API of what notebooks show of runs and clusters."""

from __future__ import annotations

from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import HttpError

from observatory.clusters.access import get_cluster
from observatory.comparison.run_selection import MOST_EARLIER, runs_to_compare
from observatory.comparison.run_summary import TooLarge
from observatory.pages.notebook.cell_figures import cell_figures
from observatory.pages.notebook.outputs import (
    cluster_output,
    comparison_output,
    findings_output,
    run_output,
)
from observatory.runs.access import get_run
from observatory.why.kept import StillLooking
from observatory.why.window import TooManyTasks

router = Router(tags=["notebook"])

LONGEST_CELL = 30 * 86_400
"""seconds"""


class NotebookOutput(Schema):
    html: str
    """without scripts, style sheets or addresses that it loads; all texts are escaped"""
    text: str
    url: str
    """of the page"""
    is_final: bool
    """false: it can change while nobody changes the run, because it goes on or wasn't looked at yet"""


class PrefixOfCell(Schema):
    name: str
    color: str
    done: int
    erred: int | None
    total: int | None
    """None: not known"""


class CellFigures(Schema):
    """What a cluster does, and what it did since a time. Times are on the scheduler's clock."""

    since: float
    at: float
    """the newest time of which everything is known; it can be before `since`"""
    done: int
    erred: int
    total: int
    """as far as it is known"""
    prefixes: list[PrefixOfCell]
    """those with most tasks"""
    more_prefixes: int
    workers: int
    threads: int
    running: int
    """threads that compute something"""
    memory: float
    memory_limit: float
    spilled: float
    """bytes, of all workers"""


@router.get("/runs/{int:run_id}/notebook", response=NotebookOutput)
def run_in_notebook(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """The run as the output of a notebook's cell: state, main finding, small task stream, link."""
    return run_output(request, get_run(cast(User, request.user), run_id))


@router.get("/runs/{int:run_id}/notebook/findings", response=NotebookOutput)
def findings_in_notebook(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """The findings of the run as the output of a notebook's cell."""
    run = get_run(cast(User, request.user), run_id)
    try:
        return findings_output(request, run)
    except (TooManyTasks, StillLooking) as error:
        raise HttpError(422, str(error)) from None


@router.get("/runs/{int:run_id}/notebook/comparison", response=NotebookOutput)
def comparison_in_notebook(
    request: HttpRequest,
    run_id: int,
    other: Annotated[int | None, Query(ge=1, lt=2**31, description="another run")] = None,
    last: Annotated[
        int | None,
        Query(ge=1, le=MOST_EARLIER, description="instead of other: earlier runs of the same name"),
    ] = None,
) -> dict[str, Any]:
    """A comparison of the run as the output of a notebook's cell."""
    user = cast(User, request.user)
    get_run(user, run_id)
    if (other is None) == (last is None):
        raise HttpError(422, "Give either other (a run) or last (a number of earlier runs) to compare with.")
    run, others = runs_to_compare(user, run_id, other, last)
    try:
        return comparison_output(request, run, others, last)
    except TooLarge as error:
        raise HttpError(422, str(error)) from None


@router.get("/clusters/{int:cluster_id}/notebook", response=NotebookOutput)
def cluster_in_notebook(request: HttpRequest, cluster_id: int) -> dict[str, Any]:
    """The cluster as the output of a notebook's cell: state, counts, small task stream, newest runs, link."""
    return cluster_output(request, get_cluster(cast(User, request.user), cluster_id))


@router.get("/clusters/{int:cluster_id}/notebook/cell", response=CellFigures)
def cell_of_cluster(
    request: HttpRequest,
    cluster_id: int,
    seconds: Annotated[float, Query(ge=0, le=LONGEST_CELL, description="since the cell began")] = 0,
) -> dict[str, Any]:
    """What the cluster does now, and which tasks it computed since a notebook's cell began."""
    return cell_figures(get_cluster(cast(User, request.user), cluster_id), seconds)
