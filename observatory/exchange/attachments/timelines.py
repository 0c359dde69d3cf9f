"""HTTP API: what is attached to the runs of a timeline, next to replay's timeline_router."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from observatory.exchange.attachments.answer import ANSWER
from observatory.replay.answers.router import AnswerRouter
from observatory.replay.answers.window_answer import Item, WindowAnswer
from observatory.replay.api import scope_of_cluster
from observatory.replay.scope import Scope
from observatory.runs.sharing.timelines import requested_link, requested_run
from observatory.store.connection import read_connection


def attachment_router(word: str, scope_of: Callable[[HttpRequest], Scope], **options: Any) -> AnswerRouter:
    router = AnswerRouter(scope_of, tags=["attachments"], **options)

    def answered(answer: WindowAnswer, request: HttpRequest, after: int, before: int) -> Item:
        with read_connection() as connection:
            return answer.of(connection, router.scope_of(request), after, before)

    ANSWER.add_to(router, word, answered)
    return router


clusters = attachment_router("cluster", scope_of_cluster)
runs = attachment_router("run", requested_run)
links = attachment_router("link", requested_link, auth=None)
