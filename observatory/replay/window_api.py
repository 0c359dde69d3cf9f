"""HTTP API of a timeline: answers about a window, from kept sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from ninja.responses import Response

from observatory.replay.scope import Scope
from observatory.replay.transfer_schemas import Transfers
from observatory.replay.transfers import transfers_of
from observatory.store.connection import build_connection
from observatory.store.times import MAXIMUM_TIME

Seconds = Annotated[float, Query(gt=0, lt=MAXIMUM_TIME / 1e6, description="on the scheduler's clock")]
After = Annotated[float, Query(ge=0, lt=MAXIMUM_TIME / 1e6)]
LATEST = MAXIMUM_TIME / 1e6 - 1


def add_window_routes(router: Router, word: str, scope_of: Callable[[HttpRequest], Scope]) -> None:
    """Add the routes of answers about a window to those of a timeline."""

    @router.get("/transfers", operation_id=f"{word}_transfers", response=Transfers)
    def transfers(request: HttpRequest, after: After = 0, before: Seconds = LATEST) -> HttpResponse:
        """Transfers between workers with after ≤ start < before, stealing, and P2P shuffles."""
        window = round(after * 1e6), round(before * 1e6)
        with build_connection() as connection:
            return Response(transfers_of(connection, scope_of(request), *window))
