"""Django's ASGI handler, with one thread for all of a request."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, HttpResponseBase

IDLE_THREADS = 8
"""kept for the next requests"""


class OneThreadHandler(ASGIHandler):
    """Runs middleware and view as WSGI does: one after the other, in a thread that is used again.

    Django's own handler returns to the event loop between the middleware and the view, and starts two threads
    for each request, which costs more than a small answer of the API. The views are synchronous; an
    asynchronous one would work, but wait in its thread.
    """

    def __init__(self) -> None:
        super().__init__()
        self._idle: deque[ThreadPoolExecutor] = deque()

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        respond: Callable[[HttpRequest], Awaitable[HttpResponseBase]] = sync_to_async(self.get_response)
        return await respond(request)

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
