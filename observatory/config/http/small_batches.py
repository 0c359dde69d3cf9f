"""Small batches of agents: those of one token that come at about the same time are stored together.

Hundreds of agents send a small batch each every few seconds. A transaction for each, and Django's handling of
each request, cost several times what their records do. Larger batches are Django's
(collect/agents/ingest.py).
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from cachetools import LRUCache
from django.db import close_old_connections

from observatory.clusters.tokens.ingest_tokens import digest_of
from observatory.clusters.tokens.models import IngestToken
from observatory.collect.agents import metrics
from observatory.collect.agents.body import Body, encoding_of, unpacked_body
from observatory.collect.agents.storing import Answer, Sent, busy, not_stored, refused_for_speed, store
from observatory.collect.agents.tokens import UNKNOWN, valid_token
from observatory.collect.agents.writers import SHARES, WRITERS
from observatory.config.http.body_limit import Application, Receive, Send
from observatory.config.http.own_host import is_own_host
from observatory.runtime.health.request_metrics import DURATION, REQUESTS
from observatory.store.connection import database_error
from observatory.store.places.shares import Busy

log = logging.getLogger(__name__)

PATH = "/api/v1/ingest"
SMALL = 64 << 10
"""bytes of a body as it is sent: some 2,000 tasks of a second"""
GATHERING = 0.1
"""seconds between the beginnings of two groups of a token"""
MOST_TOGETHER = 64
MOST_WAITING = 200
"""batches of a token, and those of tokens that are looked up"""
REMEMBERED = 10_000
"""tokens whose project is known"""


class SmallBatch(NamedTuple):
    """A batch that waits to be stored."""

    body: bytes
    encoding: str
    """the header Content-Encoding"""
    address: str
    answer: asyncio.Future[Answer]


class SmallBatches:
    """ASGI middleware: stores small batches of agents, and passes all other requests on."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._waiting: dict[str, deque[SmallBatch]] = {}
        """by token, while its batches are served"""
        self._serving: set[asyncio.Task[None]] = set()
        self._projects: LRUCache[str, int] = LRUCache(REMEMBERED)
        """by the digests of valid tokens"""
        self._writing = ThreadPoolExecutor(WRITERS, "small-batches")
        self._finding = ThreadPoolExecutor(1, "tokens")
        """unknown tokens, of which anybody can send many, wait for one another"""
        self._sought = 0

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"]) if scope["path"] == PATH and scope["method"] == "POST" else {}
        secret = _secret_of(headers)
        if secret is None or not _is_small(headers) or not _is_for_us(headers):
            await self.application(scope, receive, send)
            return
        began = time.perf_counter()
        body = await _body(receive)
        if body is None:
            return
        encoding = headers.get(b"content-encoding", b"").decode("latin-1")
        address = str(scope["client"][0]) if scope.get("client") else ""
        answer = await self._answer(secret, body, encoding, address)
        REQUESTS.labels("POST", PATH, str(answer.status)).inc()
        for duration in (metrics.DURATION, DURATION.labels("POST", PATH)):
            duration.observe(time.perf_counter() - began)
        await _respond(send, answer)

    async def _answer(self, secret: str, body: bytes, encoding: str, address: str) -> Answer:
        loop = asyncio.get_running_loop()
        digest = digest_of(secret)
        if (project := self._projects.get(digest)) is None:
            found = await self._find(secret, address)
            if isinstance(found, Answer):
                return found
            project = self._projects[digest] = found
        waiting = self._waiting.get(secret)
        if waiting is None:
            waiting = self._waiting[secret] = deque()
            task = asyncio.create_task(self._serve(secret, project))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        if len(waiting) >= MOST_WAITING:
            return busy()
        batch = SmallBatch(body, encoding, address, loop.create_future())
        waiting.append(batch)
        return await batch.answer

    async def _find(self, secret: str, address: str) -> int | Answer:
        """The project of a token that this process doesn't know, or the answer to who sent it."""
        if self._sought >= MOST_WAITING:
            return busy("too many unknown tokens are looked up: send the batch later")
        self._sought += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._finding, _project_of, secret, address)
        finally:
            self._sought -= 1

    async def _serve(self, secret: str, project: int) -> None:
        """Stores the batches of a token until none has come for a while."""
        loop, waiting = asyncio.get_running_loop(), self._waiting[secret]
        try:
            while waiting:
                began = loop.time()
                await self._store_some(secret, project, waiting)
                await asyncio.sleep(began + GATHERING - loop.time())
        except Exception:
            log.exception("the batches that wait are not stored")
        finally:
            del self._waiting[secret]
            _refuse(waiting)

    async def _store_some(self, secret: str, project: int, waiting: deque[SmallBatch]) -> None:
        loop = asyncio.get_running_loop()
        try:
            await SHARES.take_later(project)
        except Busy:
            _refuse(waiting)
            return
        batches = [waiting.popleft() for _ in range(min(len(waiting), MOST_TOGETHER))]
        try:
            answers = await loop.run_in_executor(self._writing, _stored, secret, batches)
        finally:
            SHARES.leave(project)
        _resolve(batches, answers)


def _secret_of(headers: Mapping[bytes, bytes]) -> str | None:
    scheme, _, secret = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return secret if scheme.lower() == "bearer" else None


def _is_small(headers: Mapping[bytes, bytes]) -> bool:
    length = headers.get(b"content-length", b"")
    return length.isdigit() and int(length) <= SMALL and b"transfer-encoding" not in headers


def _is_for_us(headers: Mapping[bytes, bytes]) -> bool:
    return is_own_host(headers.get(b"host", b"").decode("latin-1"))


async def _body(receive: Receive) -> bytes | None:
    """None: the client has gone."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _respond(send: Send, answer: Answer) -> None:
    body = json.dumps(answer.content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if answer.retry_after is not None:
        headers.append((b"retry-after", str(answer.retry_after).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _resolve(batches: Sequence[SmallBatch], answers: Sequence[Answer]) -> None:
    for batch, answer in zip(batches, answers, strict=True):
        if not batch.answer.done():  # the client may have gone
            batch.answer.set_result(answer)


def _refuse(waiting: deque[SmallBatch]) -> None:
    """Asks for those that wait to be sent again."""
    _resolve(waiting, [busy() for _ in waiting])
    waiting.clear()


def _project_of(secret: str, address: str) -> int | Answer:
    """The project of a token, or the answer to who sends none that is valid."""
    try:
        token = valid_token(secret, address)
    except Exception as error:
        return _failed(error)
    finally:
        close_old_connections()
    return token.project_id if token is not None else Answer(401, {"detail": UNKNOWN})


def _stored(secret: str, batches: Sequence[SmallBatch]) -> list[Answer]:
    """The answers to batches of one token."""
    try:
        token = valid_token(secret, batches[0].address)
        if token is None:
            return [Answer(401, {"detail": UNKNOWN})] * len(batches)
        return _stored_together(token, batches)
    except Exception as error:
        return [_failed(error)] * len(batches)
    finally:
        close_old_connections()


def _stored_together(token: IngestToken, batches: Sequence[SmallBatch]) -> list[Answer]:
    refusals = [refused_for_speed(token.project, len(batch.body)) for batch in batches]
    permitted = [batch for batch, refusal in zip(batches, refusals, strict=True) if refusal is None]
    answers = iter(_answers(token, [Sent(_reading(batch), batch.address) for batch in permitted]))
    return [next(answers) if refusal is None else refusal for refusal in refusals]


def _answers(token: IngestToken, sent: Sequence[Sent]) -> list[Answer]:
    try:
        return store(token, sent)
    except Exception as error:
        if len(sent) <= 1:
            return [_failed(error)] * len(sent)
        log.warning("%d batches are stored one by one: %r", len(sent), error)
        return [answer for one in sent for answer in _answers(token, [one])]


def _reading(batch: SmallBatch) -> Callable[[], Body]:
    def read() -> Body:
        return unpacked_body(deque([batch.body]), encoding_of(batch.encoding))

    return read


def _failed(error: Exception) -> Answer:
    if database_error(error) is not None:
        return not_stored(error)
    log.error("a batch is not stored", exc_info=error)
    return Answer(500, {"detail": "an error of this server, which its log has: send the batch again"})
