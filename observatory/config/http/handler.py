"""Django's ASGI handler, with one thread for all of a request."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string

from observatory.config.http.request_shares import Turns, is_free
from observatory.store.places.askers import ASKER, PATIENCE, Asker
from observatory.store.places.scan_places import BEGINS_AGAIN, HAS_PLACE, NoPlace, leave_place, wait_for_place
from observatory.store.places.shares import Busy
from observatory.store.reading.scanned_files import SCANNED_FILES, ScannedFiles

IDLE_THREADS = 8
"""kept for the next requests"""
RETRY_AFTER = 2
"""seconds"""
PATIENCE_OF_PAGES, PATIENCE_OF_PROGRAMS = 2.0, 25.0
"""seconds; the second is below the time after which proxies give up"""
PREFERRED_WAIT = re.compile(r"(?:^|[,;\s])wait=(\d{1,4})\b")
SWITCH_INTERVAL = 0.0005
"""seconds that a thread may run while others wait, instead of Python's 0.005: a page waits for its turn after
each of its queries"""
BUSY = "too many of your requests, or of your project's, are waiting: try again in some seconds"


class OneThreadHandler(ASGIHandler):
    """Runs middleware and view as WSGI does: one after the other, in a thread that is used again.

    Django's own handler returns to the event loop between the middleware and the view, and starts two threads
    for each request, which costs more than a small answer of the API. The views are synchronous; an
    asynchronous one would work, but wait in its thread.
    """

    def __init__(self) -> None:
        super().__init__()
        self._idle: deque[ThreadPoolExecutor] = deque()
        self.turns = Turns()
        sys.setswitchinterval(SWITCH_INTERVAL)

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        if is_free(request.path_info):
            return await _in_thread(lambda: self.get_response(request))
        response, asker = await self._in_turn(request, begins_again=request.method == "GET")
        if asker is None or not getattr(response, "waits_for_scan", False):
            return response
        try:
            await wait_for_place(asker.key)
        except NoPlace:
            return response  # it says so
        again = ASGIRequest(request.scope, BytesIO())  # type: ignore[attr-defined]
        return (await self._in_turn(again, scan=asker.key))[0]

    async def _in_turn(
        self, request: HttpRequest, *, begins_again: bool = False, scan: Hashable | None = None
    ) -> tuple[HttpResponseBase, Asker | None]:
        """The response, and who asked, if they have a turn. `scan`: who has the place of its scans."""
        started = False
        try:
            try:
                asker, key = await self.turns.take(request.path_info, request.scope)  # type: ignore[attr-defined]
            except Busy:
                return _busy(request), None
            loop = asyncio.get_running_loop()

            def respond() -> HttpResponseBase:
                nonlocal started
                started = True
                ASKER.set(asker)
                waiting = PATIENCE.set(patience(request))
                files = ScannedFiles()
                scanned = SCANNED_FILES.set(files)
                beginning, held = BEGINS_AGAIN.set(begins_again), HAS_PLACE.set(scan is not None)
                try:
                    response = self.get_response(request)
                    if files.of:
                        response.headers["Searched-Files"] = f"{files.read}/{files.of}"
                    return response
                finally:
                    SCANNED_FILES.reset(scanned)
                    # an answer that is sent bit by bit can't be another any more
                    PATIENCE.reset(waiting)
                    BEGINS_AGAIN.reset(beginning)
                    HAS_PLACE.reset(held)
                    # its client may have gone meanwhile: the thread has the places until it ends
                    loop.call_soon_threadsafe(self.turns.leave, asker, key)
                    if scan is not None:
                        leave_place(scan)

            try:
                return await _in_thread(respond), asker
            except asyncio.CancelledError:  # by a client that has gone: its searches stop
                asker.is_gone = True
                raise
            finally:
                if not started:
                    self.turns.leave(asker, key)
        finally:
            if scan is not None and not started:
                leave_place(scan)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(max_workers=1)
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self.handle(scope, receive, send)
        finally:
            # in the thread itself: a request whose client has gone may still run there
            thread.submit(self._keep, thread)

    def _keep(self, thread: ThreadPoolExecutor) -> None:
        if len(self._idle) < IDLE_THREADS:
            self._idle.append(thread)
        else:
            thread.shutdown(wait=False)


def patience(request: HttpRequest) -> float:
    """Seconds that a request waits for archived rows: what it prefers (RFC 7240), as in "wait=5"."""
    preferred = PREFERRED_WAIT.search(request.headers.get("Prefer", ""))
    if preferred:
        return min(float(preferred[1]), PATIENCE_OF_PROGRAMS)
    return PATIENCE_OF_PROGRAMS if request.path_info.startswith("/api/") else PATIENCE_OF_PAGES


async def _in_thread(respond: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """In the thread of the request."""
    call: Callable[[], Awaitable[HttpResponseBase]] = sync_to_async(respond)
    return await call()


def _busy(request: HttpRequest) -> HttpResponse:
    if request.path_info.startswith("/api/"):
        answer = HttpResponse(json.dumps({"detail": BUSY}), status=429, content_type="application/json")
    else:
        looks_again = request.method == "GET"
        page = render_to_string("pages/site/busy.html", {"looks_again": looks_again})
        answer = HttpResponse(page, status=429)
        if looks_again:
            answer.headers["Refresh"] = str(RETRY_AFTER)
    answer.headers["Retry-After"] = str(RETRY_AFTER)
    return answer
