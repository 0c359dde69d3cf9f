"""Two threads of the agent's: one makes batches of what hooks left, the other one sends them in order."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from observatory.agent.backlog import Backlog, Batch, batch_of
from observatory.agent.buffer import Buffer
from observatory.agent.configuration import Configuration, spool_directory
from observatory.agent.post import Outcome, Post
from observatory.agent.spool import Spool, left_behind
from observatory.wire.batches import Head

log = logging.getLogger("distributed.observatory")

Row = tuple[Any, ...]
BUFFER_FULL, REFUSED = "spool-full", "refused"
ROWS = 10_000
"""of one kind in a batch: encoding them holds the interpreter for some milliseconds, not more"""
SHORTEST, LONGEST = 0.5, 30.0
FORBIDDEN_WAIT = 30.0
MARGIN = 0.05
"""seconds between the reading of the clock in a hook and the row being in the buffer, at most"""


@dataclass(frozen=True)
class Cluster:
    """Who reports."""

    scheduler_id: str
    name: str
    address: str
    started: float
    since: float


class Sender:
    def __init__(self, configuration: Configuration, cluster: Cluster, buffer: Buffer) -> None:
        self.configuration = configuration
        self.cluster = cluster
        self.buffer = buffer
        self.agent = uuid.uuid4().hex
        self.failures = 0
        self._sequence = 0
        self._process = os.getpid()
        directory = spool_directory(configuration)
        self._spool = Spool(directory / self.agent, configuration.spool_limit, configuration.url)
        self.backlog = Backlog(self._spool, configuration.memory_limit)
        self._left_behind = left_behind(directory, configuration.url)
        self._closing = threading.Event()
        self._gathered = threading.Event()
        self._deadline = float("inf")
        self._said = ""
        self._is_last = True
        self._gatherer = threading.Thread(target=self._gather_on, name="observatory-gather", daemon=True)
        self._poster = threading.Thread(target=self._post_on, name="observatory-post", daemon=True)

    def start(self) -> None:
        self._gatherer.start()
        self._poster.start()

    def close(self, timeout: float, is_last: bool = True) -> None:
        """Sends what is left for at most `timeout` seconds and leaves the rest in the spool."""
        self._is_last = is_last
        self._deadline = time.monotonic() + timeout
        self._closing.set()
        self._gatherer.join(timeout)
        self._gathered.set()
        self._poster.join(max(0.1, self._deadline - time.monotonic()) + 1)
        left = len(self.backlog)
        with contextlib.suppress(OSError):
            self.backlog.keep()
            self._spool.close()
        if left:
            log.warning(
                "Observatory's agent leaves %d batches in %s: `python -m observatory.agent flush` sends them",
                left,
                self._spool.folder,
            )

    def _gather_on(self) -> None:
        while not self._closing.wait(self.configuration.flush_interval):
            self._guarded(self._gather)
        self._guarded(self._gather)
        self._guarded(self._say_last)
        self._gathered.set()

    def _gather(self) -> None:
        """Makes batches of what is in the buffer."""
        committed = time.time() - MARGIN
        dropped = [
            (first, last, kind, count, BUFFER_FULL)
            for kind, (count, first, last) in self.buffer.trim().items()
        ]
        taken = self.buffer.drain()
        parts = list(_divided(taken)) or [{}]
        for number, rows in enumerate(parts):
            is_end = number == len(parts) - 1
            if rows or dropped or is_end:
                self._add(rows, dropped, committed if is_end else 0.0)
                dropped = []
                time.sleep(0)

    def _add(
        self, rows: dict[str, list[Row]], dropped: list[Row], committed: float, is_last: bool = False
    ) -> None:
        self._sequence += 1
        head = Head(
            agent=self.agent,
            sequence=self._sequence,
            scheduler_id=self.cluster.scheduler_id,
            name=self.cluster.name,
            address=self.cluster.address,
            started=self.cluster.started,
            since=self.cluster.since,
            committed=committed,
            is_last=is_last,
        )
        self.backlog.add(batch_of(head, rows, dropped))

    def _say_last(self) -> None:
        if self._is_last:
            self._add({}, [], time.time(), is_last=True)

    def _post_on(self) -> None:
        pause = SHORTEST
        with contextlib.closing(Post(self.configuration)) as post:
            # a forked child has our memory: whatever became of our threads there, it sends nothing
            while os.getpid() == self._process and time.monotonic() < self._deadline:
                outcome = self._guarded(self._deliver, post)
                if outcome in (Outcome.RETRY, Outcome.FORBIDDEN):
                    longest = FORBIDDEN_WAIT if outcome is Outcome.FORBIDDEN else pause
                    self._rest(max(longest, post.wait) * random.uniform(0.75, 1.25))
                    pause = min(LONGEST, pause * 2)
                    continue
                pause = SHORTEST
                if self._gathered.is_set() and not len(self.backlog):
                    return
                self._rest(self.configuration.flush_interval / 2)

    def _rest(self, seconds: float) -> None:
        """Waits, less while the scheduler waits for us."""
        if self._closing.is_set():
            time.sleep(min(seconds, 0.1))
        else:
            self._closing.wait(seconds)

    def _deliver(self, post: Post) -> Outcome | None:
        """Sends the batches that there are; how the last one fared, None when there was none."""
        outcome = None
        while (batch := self.backlog.first()) is not None and time.monotonic() < self._deadline:
            outcome = self._send(post, batch)
            if outcome in (Outcome.RETRY, Outcome.FORBIDDEN):
                return outcome
            self.backlog.done(batch)
        if not self._closing.is_set():
            self._adopt(post)
        return outcome

    def _send(self, post: Post, batch: Batch) -> Outcome:
        outcome = post.send(batch.body())
        if outcome is Outcome.ACKNOWLEDGED:
            self._say("")
            return outcome
        self._say(post.said)
        if outcome is Outcome.REFUSED and batch.parts:
            # what is wrong with it is in one of its records: the server learns at least what is missing
            for importance in list(batch.parts):
                batch.drop(importance, REFUSED)
            return self._send(post, batch)
        return outcome

    def _adopt(self, post: Post) -> None:
        """Sends what an agent that is gone left behind, a folder at a time."""
        spool = next(self._left_behind, None)
        if spool is None:
            return
        try:
            send_all(spool, lambda batch: self._send(post, batch))
        finally:
            spool.close()

    def _say(self, said: str) -> None:
        """Logs each trouble once, and that it is over."""
        if said != self._said:
            if said:
                log.warning(
                    "Observatory at %s takes no batches (they are kept): %s", self.configuration.url, said
                )
            else:
                log.info("Observatory at %s takes batches again", self.configuration.url)
        self._said = said

    def _guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception:  # a thread that ended would lose everything from then on
            self.failures += 1
            if self.failures == 1:
                log.exception("Observatory's agent failed; further failures are only counted")
            return Outcome.RETRY


def send_all(spool: Spool, send: Callable[[Batch], Outcome]) -> int:
    """Sends a spool's batches, oldest first, until one isn't taken; how many are left."""
    while (batch := spool.first()) is not None:
        if send(batch) in (Outcome.RETRY, Outcome.FORBIDDEN):
            break
        spool.remove(batch.head.sequence)
    return len(spool)


def _divided(taken: dict[str, list[Row]]) -> Iterator[dict[str, list[Row]]]:
    """The rows in parts of at most ROWS of each kind, in order."""
    for start in range(0, max(map(len, taken.values()), default=0), ROWS):
        yield {kind: part for kind, rows in taken.items() if (part := rows[start : start + ROWS])}
