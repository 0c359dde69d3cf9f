"""HTTP API: why a window of a timeline went as it did, next to replay's timeline_router."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import psycopg
from django.http import HttpRequest, HttpResponse
from ninja import Query
from ninja.errors import HttpError

from observatory.config.http.api_response import ApiResponse
from observatory.replay.answers.router import AnswerRouter
from observatory.replay.api import scope_of_cluster
from observatory.replay.scope import Scope
from observatory.replay.windows.api import LATEST, After, Seconds, window_of
from observatory.runs.sharing.timelines import requested_link, requested_run
from observatory.store.connection import build_connection
from observatory.why.findings.schemas import Findings
from observatory.why.kept import Name, StillLooking, explained
from observatory.why.schemas import CriticalPathAnswer, ThreadTimes
from observatory.why.what_if.answer import prediction, what_if
from observatory.why.what_if.change import Change
from observatory.why.what_if.schemas import Prediction, WhatIf
from observatory.why.window import Item, TooManyTasks

RETRY_AFTER = 15
"""seconds"""
Answer = Callable[[psycopg.Connection, Scope, int, int], Item]
Workers = Annotated[int | None, Query(ge=1, le=1000, description="number of workers")]
Threads = Annotated[int | None, Query(ge=1, le=256, description="threads of each worker")]
PrefixId = Annotated[int | None, Query(ge=0, description="prefix whose tasks take another time")]
TimesAsFast = Annotated[float, Query(ge=0.01, le=100, description="how fast these tasks are")]


def why_router(word: str, scope_of: Callable[[HttpRequest], Scope], **options: Any) -> AnswerRouter:
    router = AnswerRouter(scope_of, tags=["why"], **options)

    @router.get("/thread-times", operation_id=f"{word}_thread_times", response=ThreadTimes)
    def times(request: HttpRequest, after: After = 0, before: Seconds = LATEST) -> Item | HttpResponse:
        """Where the time of the workers' threads went in after ≤ time < before, and why they were idle."""
        return answered(kept("thread-times"), router.scope_of(request), after, before)

    @router.get("/critical-path", operation_id=f"{word}_critical_path", response=CriticalPathAnswer)
    def path(request: HttpRequest, after: After = 0, before: Seconds = LATEST) -> Item | HttpResponse:
        """What each step in after ≤ time < before had to wait for, from the last task backwards."""
        return answered(kept("critical-path"), router.scope_of(request), after, before)

    @router.get("/findings", operation_id=f"{word}_findings", response=Findings)
    def found(request: HttpRequest, after: After = 0, before: Seconds = LATEST) -> Item | HttpResponse:
        """The causes of lost time or failure in after ≤ time < before, the most costly first."""
        return answered(kept("findings"), router.scope_of(request), after, before)

    @router.get("/what-if", operation_id=f"{word}_what_if", response=WhatIf)
    def helpful(request: HttpRequest, after: After = 0, before: Seconds = LATEST) -> Item | HttpResponse:
        """Which changes would have made after ≤ time < before shorter, from a simulation of its graph."""
        return answered(what_if, router.scope_of(request), after, before)

    @router.get("/what-if/prediction", operation_id=f"{word}_prediction", response=Prediction)
    def predicted(
        request: HttpRequest,
        after: After = 0,
        before: Seconds = LATEST,
        workers: Workers = None,
        threads: Threads = None,
        prefix: PrefixId = None,
        times_as_fast: TimesAsFast = 1.0,
        no_transfers: bool = False,
        unlimited_memory: bool = False,
    ) -> Item | HttpResponse:
        """How long after ≤ time < before would have taken with a change."""
        change = Change(workers, threads, prefix, times_as_fast, no_transfers, unlimited_memory)
        return answered(partial(prediction, change=change), router.scope_of(request), after, before)

    return router


def kept(name: Name) -> Answer:
    return lambda connection, scope, after, before: explained(connection, scope, name, after, before)


def answered(answer: Answer, scope: Scope, after: float, before: float) -> Item | ApiResponse:
    """An answer; 413 where the window has too many tasks, 503 while a run is looked at."""
    try:
        with build_connection() as connection:
            return answer(connection, scope, *window_of(after, before))
    except TooManyTasks as error:
        raise HttpError(413, str(error)) from error
    except StillLooking as error:
        return ApiResponse({"detail": str(error)}, status=503, headers={"Retry-After": str(RETRY_AFTER)})


clusters = why_router("cluster", scope_of_cluster)
runs = why_router("run", requested_run)
links = why_router("link", requested_link, auth=None)
