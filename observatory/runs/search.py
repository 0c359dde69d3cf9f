"""Searches everything that a person may see: runs, clusters, prefixes, workers and tasks."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import psycopg
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from observatory.clusters.access import Person, visible_clusters
from observatory.clusters.listing import ClusterFilter, find_clusters
from observatory.clusters.models import Cluster
from observatory.replay.task_search import Found, Wanted, search_tasks
from observatory.runs.access import visible_runs
from observatory.runs.models import Run
from observatory.store.archive.errors import ArchiveError, BeingFetched
from observatory.store.archive.scans.conditions import Condition, Contains
from observatory.store.connection import read_connection
from observatory.store.keys import groups_of_text
from observatory.store.queries.names import (
    PrefixName,
    WorkerName,
    clusters_with_group,
    prefixes_with,
    workers_with,
)
from observatory.store.reading.scanned_clusters import may_have_rows

log = logging.getLogger(__name__)

NAMES = 20
"""prefixes, workers, runs and clusters, of each"""
TASKS_OF_CLUSTER = 5
CLUSTERS_WITH_TASKS = 20
BUDGET, FIRST_BUDGET = 2.0, 0.15
"""seconds, after which no further cluster's tasks are searched; of the first page, which shows the names"""
CLUSTER_BUDGET = 0.75
"""seconds for the tasks of one cluster"""
NAMES_TIMEOUT = 1.0
"""seconds for the names of all groups"""


@dataclass(frozen=True, slots=True)
class Names:
    """What has the text in its name; runs also in their tags."""

    clusters: list[Cluster]
    runs: list[Run]
    prefixes: list[tuple[PrefixName, Cluster]]
    workers: list[tuple[WorkerName, Cluster]]

    def __bool__(self) -> bool:
        return bool(self.clusters or self.runs or self.prefixes or self.workers)


@dataclass(frozen=True, slots=True)
class FoundTasks:
    """Tasks by cluster: of those with the text in the name of a group first, then of the newest."""

    clusters: list[tuple[Cluster, Found]]
    unfinished: list[Cluster]
    """clusters without a task so far whose search took too long"""
    unreadable: list[Cluster]
    """clusters whose archived tasks can't be read now"""
    searched: int
    """number of clusters, with those of the pages before"""
    total: int
    """number of visible clusters"""

    @property
    def following(self) -> int | None:
        """The number of clusters that the next page skips; None: all are searched."""
        return self.searched if self.searched < self.total else None


def search_names(user: Person, text: str) -> Names:
    clusters = _visible_ids(user)
    with read_connection() as connection:
        prefixes = prefixes_with(connection, clusters, text, NAMES)
        workers = workers_with(connection, clusters, text, NAMES)
    named = {one.cluster for one in prefixes} | {one.cluster for one in workers}
    of = visible_clusters(user).in_bulk(named)
    return Names(
        list(find_clusters(user, ClusterFilter(search=text))[:NAMES]),
        list(_runs(user, text)[:NAMES]),
        [(one, of[one.cluster]) for one in prefixes if one.cluster in of],
        [(one, of[one.cluster]) for one in workers if one.cluster in of],
    )


def search_tasks_everywhere(user: Person, text: str, skip: int = 0, budget: float = BUDGET) -> FoundTasks:
    """Search the tasks of all visible clusters but the first `skip`, as far as `budget` seconds suffice."""
    deadline = time.monotonic() + budget
    ids = _visible_ids(user)
    collected = _Collected(text)
    searched = min(skip, len(ids))
    with read_connection() as connection:
        named = clusters_with_group(connection, ids, text, groups_of_text(text), NAMES_TIMEOUT)
        order = sorted(ids, key=lambda id: id not in named)[skip:]
        with closing(_looked_into(connection, order, named, text)) as looked_into:
            for cluster, may_have in looked_into:
                searched += 1
                if may_have:
                    collected.search(connection, cluster)
                if len(collected.found) == CLUSTERS_WITH_TASKS or time.monotonic() > deadline:
                    break
    clusters = visible_clusters(user).in_bulk(
        [*collected.found, *collected.unfinished, *collected.unreadable]
    )
    return FoundTasks(
        [(clusters[id], tasks) for id, tasks in collected.found.items() if id in clusters],
        [clusters[id] for id in collected.unfinished if id in clusters],
        [clusters[id] for id in collected.unreadable if id in clusters],
        searched,
        len(ids),
    )


@dataclass(slots=True)
class _Collected:
    """What was found of the clusters that were searched, by number."""

    text: str
    found: dict[int, Found] = field(default_factory=dict)
    unfinished: list[int] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)

    def search(self, connection: psycopg.Connection, cluster: int) -> None:
        until = time.monotonic() + CLUSTER_BUDGET
        try:
            tasks = search_tasks(connection, cluster, Wanted(self.text), TASKS_OF_CLUSTER, deadline=until)
        except BeingFetched:
            self.unfinished.append(cluster)
        except ArchiveError as error:
            log.warning("tasks of cluster %d can't be searched: %s", cluster, error)
            self.unreadable.append(cluster)
        else:
            if tasks.tasks:
                self.found[cluster] = tasks
            elif tasks.searched_to is not None:
                self.unfinished.append(cluster)


def _looked_into(
    connection: psycopg.Connection, clusters: Sequence[int], named: Collection[int], text: str
) -> Generator[tuple[int, bool]]:
    """The clusters in their order, which has `named` first, and whether they may have tasks with the text."""
    number = sum(cluster in named for cluster in clusters)
    yield from ((cluster, True) for cluster in clusters[:number])
    with_text = Condition((Contains(("key", "group"), text),))
    wanted = {"span": with_text, "task": with_text}
    with closing(may_have_rows(connection, clusters[number:], wanted)) as others:
        yield from others


def _visible_ids(user: Person) -> list[int]:
    """The clusters that the user may see, newest first."""
    return list(visible_clusters(user).order_by("-started", "-pk").values_list("pk", flat=True))


def _runs(user: Person, text: str) -> QuerySet[Run]:
    """The runs with each word of the text in their name or tags, newest first."""
    runs = visible_runs(user).annotate(tag_text=Cast("tags", TextField())).defer("contents")
    for word in text.split():
        runs = runs.filter(Q(name__icontains=word) | Q(tag_text__icontains=word))
    return runs.order_by("-start", "-pk")
