"""HTTP API: why a window of a timeline went as it did, next to replay's timeline_router."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import psycopg
from django.http import HttpRequest, HttpResponse
from ninja import Query
from ninja.errors import HttpError

from observatory.base.api_response import ApiResponse
from observatory.replay.answers.router import AnswerRouter
from observatory.replay.answers.window_answer import LATEST, After, Item, Seconds, WindowAnswer, window_of
from observatory.replay.api import scope_of_cluster
from observatory.replay.scope import Scope
from observatory.runs.sharing.timelines import requested_link, requested_run
from observatory.store.connection import build_connection
from observatory.why.answers import ANSWERS
from observatory.why.kept import StillLooking
from observatory.why.what_if.answer import prediction
from observatory.why.what_if.change import Change
from observatory.why.what_if.schemas import Prediction
from observatory.why.window import TooManyTasks

RETRY_AFTER = 15
"""seconds"""
Answer = Callable[[psycopg.Connection, Scope, int, int], Item]
Workers = Annotated[int | None, Query(ge=1, le=1000, description="number of workers")]
Threads = Annotated[int | None, Query(ge=1, le=256, description="threads of each worker")]
PrefixId = Annotated[int | None, Query(ge=0, description="prefix whose tasks take another time")]
TimesAsFast = Annotated[float, Query(ge=0.01, le=100, description="how fast these tasks are")]


def why_router(word: str, scope_of: Callable[[HttpRequest], Scope], **options: Any) -> AnswerRouter:
    router = AnswerRouter(scope_of, tags=["why"], **options)

    def of_window(answer: WindowAnswer, request: HttpRequest, after: int, before: int) -> Item | HttpResponse:
        return answered(answer.of, router.scope_of(request), after, before)

    for answer in ANSWERS:
        answer.add_to(router, word, of_window)

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
        from_start: bool = False,
    ) -> Item | HttpResponse:
        """How long after ≤ time < before would have taken with a change."""
        change = Change(workers, threads, prefix, times_as_fast, no_transfers, unlimited_memory, from_start)
        window = window_of(after, before)
        return answered(partial(prediction, change=change), router.scope_of(request), *window)

    return router


def answered(answer: Answer, scope: Scope, after: int, before: int) -> Item | ApiResponse:
    """An answer about [after, before) (microseconds); 413 for too many tasks, 503 while it is looked for."""
    try:
        with build_connection() as connection:
            return answer(connection, scope, after, before)
    except TooManyTasks as error:
        raise HttpError(413, str(error)) from error
    except StillLooking as error:
        return ApiResponse({"detail": str(error)}, status=503, headers={"Retry-After": str(RETRY_AFTER)})


clusters = why_router("cluster", scope_of_cluster)
runs = why_router("run", requested_run)
links = why_router("link", requested_link, auth=None)
