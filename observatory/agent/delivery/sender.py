"""Two threads of the agent's: one makes batches of what hooks left, the other one sends them in order."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from observatory.agent.configuration import Configuration, spool_directory
from observatory.agent.delivery.backlog import Backlog
from observatory.agent.delivery.batch import Batch, EncodedRows, batch_of, divided, lost
from observatory.agent.delivery.buffer import Buffer
from observatory.agent.delivery.ingest_client import IngestClient, Outcome
from observatory.agent.delivery.spool import Spool, left_behind, owner_of
from observatory.wire.head import Head
from observatory.wire.kinds import KINDS, Importance

log = logging.getLogger("distributed.observatory")

Row = tuple[Any, ...]
BUFFER_FULL, REFUSED = "buffer-full", "refused"
SHORTEST, LONGEST = 0.5, 30.0
FORBIDDEN_WAIT = 30.0
RESCAN = 60.0
"""seconds between two looks for what other agents left behind"""
MARGIN = 0.05
"""seconds between the reading of the clock in a hook and the row being in the buffer, at most: a hook runs on
the event loop without a wait, but its thread may be taken from the processor in between"""
WAITING = (Outcome.RETRY, Outcome.FORBIDDEN)


@dataclass(frozen=True)
class Cluster:
    """Who reports."""

    scheduler_id: str
    name: str
    address: str
    started: float
    since: float


class Sender:
    """From `start` to `close`. Nothing here raises into Dask; a forked child never sends."""

    def __init__(self, configuration: Configuration, cluster: Cluster, buffer: Buffer) -> None:
        self.configuration = configuration
        self.cluster = cluster
        self.buffer = buffer
        self.agent = uuid.uuid4().hex
        self.failures = 0
        self._counting = threading.Lock()
        self._sequence = 0
        self._process = os.getpid()
        self._directory = spool_directory(configuration)
        self._owner = owner_of(configuration.url, configuration.token)
        self._spool = Spool(self._directory / self.agent, configuration.spool_limit, self._owner)
        self.backlog = Backlog(self._spool, configuration.memory_limit)
        self._adopted: Spool | None = None
        self._left_behind = left_behind(self._directory, self._owner)
        self._scan_again = 0.0
        self._closing = threading.Event()
        self._gathered = threading.Event()
        self._deadline = float("inf")
        self._trouble: Outcome | None = None
        self._has_refused = False
        self._is_last = True
        self._gatherer = threading.Thread(target=self._gather_on, name="observatory-gather", daemon=True)
        self._poster = threading.Thread(target=self._post_on, name="observatory-post", daemon=True)

    def start(self) -> None:
        self._gatherer.start()
        self._poster.start()

    def close(self, timeout: float, is_last: bool = True) -> None:
        """Sends what is left for at most `timeout` seconds and leaves the rest in the spool."""
        if os.getpid() != self._process:
            return
        self._is_last = is_last
        self._deadline = time.monotonic() + timeout
        self._closing.set()
        self._gatherer.join(timeout)
        self._gathered.set()
        self._poster.join(max(0.1, self._deadline - time.monotonic()) + 1)
        self._guarded(self._leave)

    def _leave(self) -> None:
        left = len(self.backlog)
        without_room = self.backlog.keep()
        self._spool.close()
        if without_room:
            log.error("Observatory's agent could neither send nor keep %d batches", without_room)
        if left > without_room:
            log.warning(
                "Observatory's agent leaves %d batches in %s: `python -m observatory.agent flush` sends them",
                left - without_room,
                self._spool.folder,
            )

    def _gather_on(self) -> None:
        while not self._closing.wait(self.configuration.flush_interval):
            self._guarded(self._gather)
        self._guarded(self._gather, self._is_last)
        self._gathered.set()

    def _gather(self, is_last: bool = False) -> None:
        """Makes batches of what is in the buffer; the last of them says until when all is told."""
        committed = time.time() - (0 if is_last else MARGIN)
        dropped = [lost(KINDS[kind], rows, BUFFER_FULL) for kind, rows in self.buffer.trim().items()]
        last: list[EncodedRows] = []
        for pieces in divided(self.buffer.drain(), dropped):
            if last:
                self._add(last, (), 0.0)
            last = pieces
        # one that has nothing to tell says that the cluster lives: once is enough while it isn't heard
        if last or dropped or is_last or not len(self.backlog):
            self._add(last, dropped, committed, is_last)

    def _add(
        self, pieces: Sequence[EncodedRows], dropped: Sequence[Row], committed: float, is_last: bool = False
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
        self.backlog.add(batch_of(head, pieces, dropped))

    def _post_on(self) -> None:
        pause = SHORTEST
        with contextlib.closing(IngestClient(self.configuration)) as post:
            # a forked child has our memory: whatever became of our threads there, it sends nothing
            while os.getpid() == self._process and time.monotonic() < self._deadline:
                outcome = self._guarded(self._deliver, post)
                if outcome in WAITING:
                    least = FORBIDDEN_WAIT if outcome is Outcome.FORBIDDEN else pause
                    self._rest(max(least, post.wait) * random.uniform(0.75, 1.25))
                    pause = min(LONGEST, pause * 2)
                    continue
                pause = SHORTEST
                if self._gathered.is_set() and not len(self.backlog):
                    break
                if self._adopted is None:
                    self._rest(self.configuration.flush_interval / 2)
        if self._adopted is not None:
            self._adopted.close()

    def _rest(self, seconds: float) -> None:
        """Waits, less while the scheduler waits for us."""
        if self._closing.is_set():
            time.sleep(min(seconds, 0.1))
        else:
            self._closing.wait(seconds)

    def _deliver(self, post: IngestClient) -> Outcome | None:
        """Sends the batches that there are; how the last one fared, None when there was none."""
        outcome = None
        while (batch := self.backlog.first()) is not None and time.monotonic() < self._deadline:
            outcome = self._send(post, batch)
            if outcome in WAITING:
                return outcome
            self.backlog.done(batch)
        if not self._closing.is_set():
            return self._adopt(post) or outcome
        return outcome

    def _send(self, post: IngestClient, batch: Batch) -> Outcome:
        outcome = send(post, batch)
        if post.refused and not self._has_refused:
            self._has_refused = True
            log.error("Observatory refuses records (they are counted as dropped): %s", post.refused)
        if outcome in WAITING and outcome is not self._trouble:
            log.warning(
                "Observatory at %s takes no batches (they are kept): %s", self.configuration.url, post.said
            )
        if outcome not in WAITING and self._trouble is not None:
            log.info("Observatory at %s takes batches again", self.configuration.url)
        self._trouble = outcome if outcome in WAITING else None
        return outcome

    def _adopt(self, post: IngestClient) -> Outcome | None:
        """Sends one batch of those that agents which are gone left behind."""
        spool = self._adopted = self._adopted or self._next_left_behind()
        if spool is None:
            return None
        batch = spool.first()
        if batch is not None:
            outcome = self._send(post, batch)
            if outcome in WAITING:
                return outcome
            spool.remove(batch.sequence)
        if not len(spool):
            spool.close()
            self._adopted = None
        return None

    def _next_left_behind(self) -> Spool | None:
        if time.monotonic() < self._scan_again:
            return None
        spool = next(self._left_behind, None)
        if spool is None:
            self._scan_again = time.monotonic() + RESCAN
            self._left_behind = left_behind(self._directory, self._owner)
        return spool

    def _guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception:  # a thread that ended would lose everything from then on
            with self._counting:  # both threads may fail at once
                self.failures += 1
                is_first = self.failures == 1
            if is_first:
                log.exception("Observatory's agent failed; further failures are only counted")
            return Outcome.RETRY


def send(post: IngestClient, batch: Batch) -> Outcome:
    """Sends a batch; where the server won't ever take it, what it does take of it: less and less.

    What is wrong with a batch is in one of its records: with the others the server learns what is missing.
    """
    outcome = post.send(batch.body())
    for importance in sorted(Importance):
        if outcome is not Outcome.REFUSED:
            break
        if importance in batch.parts:
            batch = batch.without(importance, REFUSED)
            outcome = post.send(batch.body())
    return outcome


def send_all(spool: Spool, deliver: Callable[[Batch], Outcome]) -> int:
    """Sends a spool's batches, oldest first, until one isn't taken; how many are left."""
    while (batch := spool.first()) is not None:
        if deliver(batch) in WAITING:
            break
        spool.remove(batch.sequence)
    return len(spool)
