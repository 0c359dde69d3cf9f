"""The REST API of the search."""

from __future__ import annotations

from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja import Field, Query, Router, Schema
from ninja.errors import HttpError

from observatory.clusters.access import get_cluster
from observatory.clusters.models import Cluster
from observatory.replay.task_search import FoundTask, Position, Wanted, search_tasks
from observatory.runs.search import search_names, search_tasks_everywhere
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.wire.records import MAXIMUM_KEY_LENGTH, clean_key

router = Router(tags=["search"])

Text = Annotated[str, Field(min_length=1, max_length=MAXIMUM_KEY_LENGTH)]
Seconds = Annotated[float, Field(ge=0, lt=MAXIMUM_TIME / 1e6)]


class SearchQuery(Schema):
    q: Text
    """part of a key or name; case-insensitive"""
    skip: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """clusters whose tasks are not searched: `following` of the answer before"""


class TaskQuery(Schema):
    """Times are seconds on the scheduler's clock."""

    q: Text
    """part of a key; case-insensitive"""
    start: Seconds = 0
    stop: Seconds = MAXIMUM_TIME / 1e6 - 1
    not_computed: bool = False
    """only submitted tasks that did not compute"""
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    older: Annotated[str, Field(max_length=60)] = ""
    """`older` of the answer before"""


class TaskOut(Schema):
    """The last computation of a task; its submission, if it did not compute."""

    key: str
    prefix: str
    time: float
    """start of the computation, or time of the submission: seconds on the scheduler's clock"""
    duration: float | None
    worker: int | None
    worker_name: str
    state: str
    """the last recorded one; without transitions "computed" or "erred"; empty: unknown"""
    error: str
    """type of the exception of its last failed attempt; empty: none"""


class TaskPage(Schema):
    tasks: list[TaskOut]
    older: str
    """where the search goes on; empty: all is searched"""
    searched_to: float | None
    """the time at which the search stopped, as it took too long"""


class ClusterTasks(Schema):
    cluster: int
    cluster_name: str
    tasks: list[TaskOut]
    has_more: bool


class NameOut(Schema):
    id: int
    name: str
    cluster: int
    cluster_name: str


class RunName(NameOut):
    tags: dict[str, str]


class ClusterName(Schema):
    id: int
    name: str


class WorkerOut(NameOut):
    address: str
    host: str


class SearchOut(Schema):
    """At most 20 of each kind of names."""

    clusters: list[ClusterName]
    runs: list[RunName]
    prefixes: list[NameOut]
    """each in the newest cluster that has it"""
    workers: list[WorkerOut]
    tasks: list[ClusterTasks]
    unfinished: list[int]
    """clusters without a task so far whose search took too long"""
    unreadable: list[int]
    """clusters whose archived tasks can't be read now: the archive is away, or a file of it is damaged"""
    following: int | None
    """`skip` of the next request; None: all clusters are searched"""


@router.get("/search", response=SearchOut)
def search(request: HttpRequest, query: Query[SearchQuery]) -> dict[str, Any]:
    """Everything that you may see with this text in its name or, for tasks, in its key."""
    user, text = cast(User, request.user), _text(query.q)
    names = search_names(user, text)
    found = search_tasks_everywhere(user, text, query.skip)
    return {
        "clusters": [{"id": cluster.pk, "name": cluster.name} for cluster in names.clusters],
        "runs": [{**_name(run.pk, run.name, run.cluster), "tags": run.tags} for run in names.runs],
        "prefixes": [_name(prefix.id, prefix.name, cluster) for prefix, cluster in names.prefixes],
        "workers": [
            {**_name(worker.id, worker.name, cluster), "address": worker.address, "host": worker.host}
            for worker, cluster in names.workers
        ],
        "tasks": [
            {
                "cluster": cluster.pk,
                "cluster_name": cluster.name,
                "tasks": list(map(_task, tasks.tasks)),
                "has_more": tasks.older is not None,
            }
            for cluster, tasks in found.clusters
        ],
        "unfinished": [cluster.pk for cluster in found.unfinished],
        "unreadable": [cluster.pk for cluster in found.unreadable],
        "following": found.following,
    }


@router.get("/clusters/{int:cluster_id}/search", response=TaskPage)
def search_cluster(request: HttpRequest, cluster_id: int, query: Query[TaskQuery]) -> dict[str, Any]:
    """The tasks of a cluster with this text in their key, newest first."""
    cluster = get_cluster(cast(User, request.user), cluster_id)
    window = round(query.start * 1e6), round(query.stop * 1e6)
    wanted = Wanted(_text(query.q), *window, query.not_computed)
    position = Position.parse(query.older)
    if query.older and position is None:
        raise HttpError(422, f"older is {query.older!r}: it is that of the answer before")
    with read_connection() as connection:
        found = search_tasks(connection, cluster.pk, wanted, query.limit, position)
    return {
        "tasks": list(map(_task, found.tasks)),
        "older": "" if found.older is None else str(found.older),
        "searched_to": found.searched_to and found.searched_to.timestamp(),
    }


def _text(text: str) -> str:
    """Raises HttpError (422) for a text of spaces."""
    if not text.strip():
        raise HttpError(422, "q is empty: it is a part of a key or name")
    return clean_key(text.strip())


def _name(id: int, name: str, cluster: Cluster) -> dict[str, Any]:
    return {"id": id, "name": name, "cluster": cluster.pk, "cluster_name": cluster.name}


def _task(found: FoundTask) -> dict[str, Any]:
    task = found.task
    return {
        "key": task.key,
        "prefix": task.prefix,
        "time": task.time.timestamp(),
        "duration": None if task.stop is None else (task.stop - task.time).total_seconds(),
        "worker": task.worker_id,
        "worker_name": task.worker,
        "state": found.state,
        "error": found.error.exception_type if found.error else "",
    }
