"""The REST API of runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.forms.models import model_to_dict
from django.http import HttpRequest
from ninja import Field, Query, Router, Schema, Status

from observatory.clusters.access import get_cluster
from observatory.clusters.api import seconds
from observatory.clusters.api_lists import page_of, read_field
from observatory.clusters.refusal import Refusal, refusal, refused
from observatory.clusters.tokens.api_sign_in import Scope, SessionOrToken
from observatory.replay.answers.shared_fields import shared
from observatory.runs import access
from observatory.runs.forms import CutForm, RunForm
from observatory.runs.from_code import get_run_from_code
from observatory.runs.listing import RunFilter, find_runs
from observatory.runs.main_finding import main_finding_of
from observatory.runs.models import Run
from observatory.runs.tags import parse_tag
from observatory.runs.window import time_from_epoch

MAXIMUM_PAGE_SIZE = 200
ONLY_EDITORS = "Only editors and owners of a project can change its runs and notes."

CHANGES = SessionOrToken(Scope.RUNS)
router = Router(tags=["runs"])

Text = Annotated[str, Field(max_length=200)]
Order = Literal[
    "start", "-start", "duration", "-duration", "tasks", "-tasks", "errors", "-errors", "name", "-name"
]


class RunQuery(Schema):
    """Times and durations are in seconds. Parameters left out don't filter."""

    project: Text = ""
    cluster: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    name: Text = ""
    like: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    """a run: those with its name in its project, itself among them"""
    tag: Annotated[str, Field(max_length=401)] = ""
    """`git=3f2a1c`, or `git` for every run that has this tag"""
    user: Text = ""
    outcome: Literal["", "running", "finished", "erred", "lost", "unseen"] = ""
    origin: Literal["", "found", "code", "cut", "imported"] = ""
    shortest: Annotated[float, Field(ge=0, le=1e9)] | None = None
    longest: Annotated[float, Field(ge=0, le=1e9)] | None = None
    since: float | None = None
    until: float | None = None
    with_errors: bool = False
    pinned: bool = False
    alert: Text = ""
    """name of an alert rule that fired during the run"""
    finding: Text = ""
    """kind of its main finding, `none`, `too-large`, or `unknown`: it wasn't looked at yet"""
    order: Order = "-start"
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    page_size: Annotated[int, Field(ge=1, le=MAXIMUM_PAGE_SIZE)] = 50


class NewRun(Schema):
    """The window is clipped to the recorded time of the cluster."""

    cluster: Annotated[int, Field(ge=1, lt=2**31)]
    name: str = ""
    start: float | None = None
    stop: float | None = None
    tags: dict[str, str] | str = {}
    """values by name, or lines of `name = value`"""


class RunChange(Schema):
    """Fields left out stay unchanged."""

    name: str | None = None
    tags: dict[str, str] | str | None = None
    pinned: bool | None = None


@shared("done", "erred", "left")
class TasksOfRun(Schema):
    """Tasks by what became of them: each once, however often it was computed."""

    done: int
    erred: int
    """with those that needed a failed one"""
    left: int


class RunFigures(Schema):
    """Totals of a run's window (store/queries/windows/totals.py). An answer leaves out what isn't counted."""

    tasks: int = 0
    """computations: each attempt counts"""
    errors: int = 0
    """failures of tasks of their own"""
    progress: TasksOfRun | None = None
    """at the end of the run; None: no agent told, or other clients worked meanwhile"""
    until: float | None = None
    """the time until which all was counted; None: counted by an older Observatory"""
    seconds: dict[str, float] = {}
    """busy seconds by action"""
    transferred: int | None = None
    """bytes that moved between workers; None: not known"""
    workers: int = 0
    """one that was restarted is one"""
    lifetimes: int | None = None
    """of workers; None: counted by an older Observatory, which counted them as workers"""
    most_workers: int | None = None
    """at a time, as threads and memory limit; None: counted by an older Observatory, which counted all"""
    threads: int = 0
    memory_limit: int = 0
    """bytes"""
    lane_seconds: float = 0.0
    """seconds that threads existed"""
    worker_seconds: float | None = None
    """seconds that workers existed; None: counted by an older Observatory, as the next"""
    memory_seconds: float | None = None
    """bytes of the workers' memory limits times the seconds that they existed"""
    peak_memory: float | None = None
    """bytes"""
    peak_limit: int | None = None
    """bytes, the memory limits of the workers that there were at that time"""
    peak_spilled: float | None = None
    """bytes on disk, which peak_memory doesn't have"""
    other_tasks: int = 0
    """that other clients submitted, and that no other figure counts"""
    other_seconds: float = 0.0
    """in which threads computed these"""


class MainFinding(Schema):
    """The first unmarked one of what the tab Why? finds. Without state `found` its texts are empty."""

    state: Literal["found", "none", "too-large", "gone", "looking", "failed", "marked"]
    kind: str
    sentence: str
    thread_seconds: float
    """of threads, that would be saved without the cause"""
    wall_seconds: float
    """by which the run would be shorter without the cause"""


class RunOut(Schema):
    """Times are seconds since the epoch on the scheduler's clock."""

    id: int
    name: str
    project: str
    cluster: int
    cluster_name: str
    origin: Literal["found", "code", "cut", "imported"]
    outcome: Literal["running", "finished", "erred", "lost", "unseen"]
    start: float
    stop: float | None
    """None while it is running"""
    user: str
    tags: dict[str, str]
    pinned: bool
    created: float
    tasks: int | None
    """None until they are counted, as the errors"""
    errors: int | None
    figures: RunFigures
    """empty until they are counted"""
    main_finding: MainFinding | None
    """None until the run has ended and was looked at"""


class RunPage(Schema):
    items: list[RunOut]
    count: int
    page: int
    pages: int


@router.get("/runs", response={200: RunPage, 422: Refusal}, exclude_unset=True)
def list_runs(request: HttpRequest, query: Query[RunQuery]) -> Any:
    """The matching runs that you may see. A page beyond the last one returns the last one."""
    try:
        wanted = _wanted(query)
    except ValidationError as error:
        return refusal(error.message_dict)
    user = cast(User, request.user)
    found = find_runs(user, wanted)
    if query.like is not None:
        like = access.get_run(user, query.like)
        found = found.filter(name=like.name, cluster__project=like.cluster.project_id)
    return page_of(found, query.page, query.page_size, _run)


@router.post("/runs", response={201: RunOut, 422: Refusal}, exclude_unset=True, auth=CHANGES)
def cut_run(request: HttpRequest, new: NewRun) -> Any:
    """Saves a window of a cluster as a run."""
    user = cast(User, request.user)
    cluster = get_cluster(user, new.cluster)
    if not access.may_cut_runs(user, cluster):
        raise PermissionDenied(ONLY_EDITORS)
    return _saved(CutForm(cluster, user, new.dict()), 201)


@router.get("/runs/{int:run_id}", response=RunOut, exclude_unset=True)
def get_run(request: HttpRequest, run_id: int) -> dict[str, Any]:
    return _run(access.get_run(cast(User, request.user), run_id))


@router.get("/runs/code/{uuid:code_id}", response=RunOut, exclude_unset=True)
def get_run_of_code(request: HttpRequest, code_id: UUID) -> dict[str, Any]:
    """The run that client code opened with this id."""
    return _run(get_run_from_code(cast(User, request.user), code_id))


@router.patch("/runs/{int:run_id}", response={200: RunOut, 422: Refusal}, exclude_unset=True, auth=CHANGES)
def change_run(request: HttpRequest, run_id: int, change: RunChange) -> Any:
    run = _run_to_change(request, run_id)
    data = {**model_to_dict(run, RunForm.Meta.fields), **change.dict(exclude_none=True)}
    return _saved(RunForm(data, instance=run), 200)


@router.delete("/runs/{int:run_id}", response={204: None})
def delete_run(request: HttpRequest, run_id: int) -> Any:
    """Deletes a run and the links to it. The records of its cluster stay."""
    _run_to_change(request, run_id).delete()
    return Status(204, None)


def _saved(form: RunForm, status: int) -> Any:
    return Status(status, _run(form.save())) if form.is_valid() else refused(form)


def _run_to_change(request: HttpRequest, run_id: int) -> Run:
    user = cast(User, request.user)
    run = access.get_run(user, run_id)
    if not access.may_change_runs(user, run):
        raise PermissionDenied(ONLY_EDITORS)
    return run


def _wanted(query: RunQuery) -> RunFilter:
    """Raises ValidationError for an invalid tag or time."""
    values = query.dict(exclude={"page", "page_size", "like", "tag", "since", "until"})
    return RunFilter(
        **values,
        tag=read_field("tag", parse_tag, query.tag or None),
        since=read_field("since", time_from_epoch, query.since),
        until=read_field("until", time_from_epoch, query.until),
    )


def _run(run: Run) -> dict[str, Any]:
    return {
        "id": run.pk,
        "name": run.name,
        "project": run.cluster.project.slug,
        "cluster": run.cluster_id,
        "cluster_name": run.cluster.name,
        "origin": run.origin,
        "outcome": run.outcome,
        "start": run.start.timestamp(),
        "stop": seconds(run.stop),
        "user": run.user,
        "tags": run.tags,
        "pinned": run.pinned,
        "created": run.created.timestamp(),
        "tasks": run.tasks if run.counted else None,
        "errors": run.errors if run.counted else None,
        "figures": run.figures,
        "main_finding": main_finding_of(run),
    }
