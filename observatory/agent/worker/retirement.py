"""A route of workers that retires them: for what stops a worker and can wait, such as Kubernetes' preStop."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from time import monotonic
from typing import Any

from tornado.web import RequestHandler

PATH = "/observatory/retire"
POLL = 0.1
"""seconds between two looks at whether tasks still run"""
SCHEME = "Bearer "


class NotRetiredError(Exception):
    """The worker can't be retired; the message says why."""


def digest_of(token: str) -> str:
    """What workers know of the token."""
    return hashlib.sha256(token.encode()).hexdigest()


class Retirement:
    """Retires a worker once, however often that is asked for."""

    def __init__(self, worker: Any, digest: str) -> None:
        """`digest`: that of the token that may retire it."""
        self._worker = worker
        self._digest = digest
        self._running: asyncio.Task[dict[str, Any]] | None = None

    def is_allowed(self, authorization: str) -> bool:
        """Returns whether a request with this header `Authorization` may retire the worker."""
        token = authorization.removeprefix(SCHEME)
        return authorization.startswith(SCHEME) and hmac.compare_digest(digest_of(token), self._digest)

    async def retire(self) -> dict[str, Any]:
        """Returns once no task runs and other workers have all results. Raises NotRetiredError."""
        if self._running is None or (self._running.done() and self._running.exception() is not None):
            self._running = asyncio.create_task(self._retire())
        return await asyncio.shield(self._running)

    async def _retire(self) -> dict[str, Any]:
        worker, began = self._worker, monotonic()
        results = len(worker.data)
        await self._move_results()
        while worker.state.executing or worker.state.long_running:
            await asyncio.sleep(POLL)
        await self._move_results()  # of the tasks that ran meanwhile
        return {"worker": worker.address, "results": results, "seconds": round(monotonic() - began, 3)}

    async def _move_results(self) -> None:
        """The worker takes no tasks from here on. It stays in the cluster until it is stopped."""
        address = self._worker.address
        found = await self._worker.scheduler.retire_workers(
            workers=[address], close_workers=False, remove=False
        )
        if address not in found:
            raise NotRetiredError(
                "No other worker can take its results: none runs, or the results are actors."
            )


class RetireHandler(RequestHandler):
    """`GET` as well as `POST`, because Kubernetes' preStop can only send the former."""

    def initialize(self, worker: Any, plugin: str) -> None:
        self._worker = worker
        self._plugin = plugin

    async def get(self) -> None:
        retirement = getattr(self._worker.plugins.get(self._plugin), "retirement", None)
        if retirement is None:
            return self._answer(404, {"error": "The setting observatory.retire-token is not set."})
        if not retirement.is_allowed(self.request.headers.get("Authorization", "")):
            self.set_header("WWW-Authenticate", SCHEME.strip())
            return self._answer(401, {"error": "The header Authorization must have the retire token."})
        try:
            return self._answer(200, await retirement.retire())
        except NotRetiredError as error:
            return self._answer(409, {"error": str(error)})

    post = get

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(body) + "\n")


def add_route(worker: Any, plugin: str) -> None:
    """Adds the route of the plugin with this name, once: handlers of tornado can't be removed."""
    application = worker.http_application
    if not getattr(application, "_observatory_retires", False):
        application._observatory_retires = True
        prefix = (getattr(worker, "_http_prefix", None) or "").strip("/")
        path = f"/{prefix}{PATH}" if prefix else PATH
        application.add_handlers(r".*", [(path, RetireHandler, {"worker": worker, "plugin": plugin})])
