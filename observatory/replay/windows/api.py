"""HTTP API of a timeline: answers about a window, from kept sums."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from django.http import HttpRequest
from ninja import Path, Query

from observatory.replay.answers.router import AnswerRouter
from observatory.replay.answers.window_answer import LATEST, After, Item, Seconds, WindowAnswer, window_of
from observatory.replay.windows.answers import ANSWERS
from observatory.replay.windows.environment import environment_of
from observatory.replay.windows.environment_schemas import Environment
from observatory.replay.windows.fine_performance import fine_performance_of
from observatory.replay.windows.fine_performance_schemas import FinePerformance
from observatory.replay.windows.graph_schemas import TaskGraph
from observatory.replay.windows.prefix_schemas import Groups, PrefixDetail, Prefixes
from observatory.replay.windows.prefixes import groups_of, prefix_details, prefixes_of
from observatory.replay.windows.task_graph import task_graph_of
from observatory.replay.windows.transfer_schemas import Transfers
from observatory.replay.windows.transfers import transfers_of
from observatory.store.connection import build_connection, read_connection
from observatory.store.queries.timeline import snapshot

Identifier = Annotated[int, Path(ge=1, lt=2**31)]
WorkerId = Annotated[int | None, Query(ge=1, lt=2**31)]


def add_window_routes(router: AnswerRouter, word: str) -> None:
    """Add the routes of answers about a window to those of a timeline."""

    @router.get("/transfers", operation_id=f"{word}_transfers", response=Transfers)
    def transfers(
        request: HttpRequest, after: After = 0, before: Seconds = LATEST, worker: WorkerId = None
    ) -> Item:
        """Transfers between workers with after ≤ start < before, stealing, and P2P shuffles.

        `worker`: whose bytes over time are wanted as well.
        """
        with build_connection() as connection:
            return transfers_of(connection, router.scope_of(request), *window_of(after, before), worker)

    @router.get("/prefixes", operation_id=f"{word}_prefixes", response=Prefixes)
    def prefixes(request: HttpRequest, after: After = 0, before: Seconds = LATEST) -> Item:
        """What the tasks of each prefix did in after ≤ time < before: durations, errors, workers."""
        with build_connection() as connection:
            return prefixes_of(connection, router.scope_of(request), *window_of(after, before))

    @router.get("/prefixes/{prefix}", operation_id=f"{word}_prefix", response=PrefixDetail)
    def prefix(request: HttpRequest, prefix: Identifier, after: After = 0, before: Seconds = LATEST) -> Item:
        """The slowest tasks of a prefix in after ≤ time < before, its workers and its groups."""
        with build_connection() as connection:
            return next(
                prefix_details(connection, router.scope_of(request), [prefix], *window_of(after, before))
            )

    @router.get("/fine-performance", operation_id=f"{word}_fine_performance", response=FinePerformance)
    def fine_performance(request: HttpRequest, after: After = 0, before: Seconds = LATEST) -> Item:
        """Dask's fine performance metrics in after ≤ time < before, by prefix and by Dask span."""
        with build_connection() as connection:
            return fine_performance_of(connection, router.scope_of(request), *window_of(after, before))

    @router.get("/groups", operation_id=f"{word}_groups", response=Groups)
    def groups(request: HttpRequest, after: After = 0, before: Seconds = LATEST) -> Item:
        """The groups whose tasks computed longest in after ≤ time < before, with their durations."""
        with build_connection() as connection:
            return groups_of(connection, router.scope_of(request), *window_of(after, before))

    for answer in ANSWERS:
        answer.add_to(router, word, partial(_answered, router))

    @router.get("/task-graph", operation_id=f"{word}_task_graph", response=TaskGraph)
    def task_graph(request: HttpRequest, after: After = 0, before: Seconds = LATEST) -> Item:
        """The tasks that changed in after ≤ time < before as a graph, where there are at most 5,000."""
        with read_connection() as connection, snapshot(connection):
            return task_graph_of(connection, router.scope_of(request), *window_of(after, before))

    @router.get("/environment", operation_id=f"{word}_environment", response=Environment)
    def environment(request: HttpRequest, after: After = 0, before: Seconds = LATEST) -> Item:
        """Machines, versions, configuration and surroundings of the processes in after ≤ time < before."""
        with read_connection() as connection:
            return environment_of(connection, router.scope_of(request), *window_of(after, before))


def _answered(
    router: AnswerRouter, answer: WindowAnswer, request: HttpRequest, after: int, before: int
) -> Item:
    with build_connection() as connection:
        return answer.of(connection, router.scope_of(request), after, before)
