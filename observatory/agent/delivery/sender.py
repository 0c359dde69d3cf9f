"""The agent's two threads: one encodes buffered rows into batches, the other sends the batches in order."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import observatory
from observatory.agent.configuration import Configuration, spool_directory
from observatory.agent.delivery.backlog import Backlog
from observatory.agent.delivery.batch import (
    NO_STATUS,
    OVER,
    AgentBatch,
    EncodedRows,
    divide,
    dropped_row,
    make_batch,
)
from observatory.agent.delivery.buffer import Buffer
from observatory.agent.delivery.ingest_client import IngestClient, Outcome
from observatory.agent.delivery.pace import Pace
from observatory.agent.delivery.spool import Spool, abandoned_spools, owner_of
from observatory.wire.dropped_records import DropReason
from observatory.wire.head import AgentStatus, Head
from observatory.wire.kind import Importance
from observatory.wire.kinds import KINDS

log = logging.getLogger("distributed.observatory")

Row = tuple[Any, ...]
BUFFER_FULL, REFUSED = DropReason.BUFFER_FULL.value, DropReason.REFUSED.value
SHORTEST_RETRY, LONGEST_RETRY = 0.5, 6.0
FORBIDDEN_RETRY = 30.0
"""Seconds between two attempts to send a batch, give or take a quarter. After an outage the agent is back
within 10 s."""
RESCAN = 60.0
"""Seconds between two scans for abandoned spools."""
MARGIN = 0.05
"""Most seconds between a hook reading the clock and its row being in the buffer. The hook does not wait in
between, but its thread may be preempted."""
CLOSING = 1.0
"""Most seconds that the last rows take to be encoded and written, beside the time for sending."""
RETRYING = (Outcome.RETRY, Outcome.FORBIDDEN)


@dataclass(frozen=True)
class ClusterInfo:
    """The cluster that the agent reports. Times are seconds on the scheduler's clock."""

    scheduler_id: str
    name: str
    address: str
    started: float
    """Start of the scheduler."""
    since: float
    """Start of the agent."""


class Sender:
    """Delivers the rows of a buffer between `start` and `close`.

    Nothing here raises into Dask. A forked child process never sends.
    """

    def __init__(self, configuration: Configuration, cluster: ClusterInfo, buffer: Buffer) -> None:
        self.configuration = configuration
        self.cluster = cluster
        self.buffer = buffer
        self.agent = uuid.uuid4().hex
        self.failures = 0
        self.pace = Pace(configuration.flush_interval)
        self._counting = threading.Lock()
        self._sequence = 0
        self._process = os.getpid()
        self._directory = spool_directory(configuration)
        self._owner = owner_of(configuration.url, configuration.token)
        self._spool = Spool(self._directory / self.agent, configuration.spool_limit, self._owner)
        self.backlog = Backlog(self._spool, configuration.memory_limit)
        self._adopted_spool: Spool | None = None
        self._abandoned: Iterator[Spool] = iter(())
        self._scan_again = 0.0
        self._waiting: deque[Callable[[], object]] = deque()
        """What to call when the rows that are buffered now are on disk."""
        self._encode_now = threading.Event()
        self._send_now = threading.Event()
        self._closing = threading.Event()
        self._encoded_all = threading.Event()
        self._sent_all = threading.Event()
        self.closed = threading.Event()
        self._deadline = float("inf")
        self._retrying: Outcome | None = None
        self._tried = 0.0
        """When the batch that is being sent was first sent (monotonic); 0: it wasn't yet."""
        self._has_logged_refusal = False
        self._is_last = True
        self._encoder = threading.Thread(target=self._run_encoder, name="observatory-encode", daemon=True)
        self._sender = threading.Thread(target=self._run_sender, name="observatory-send", daemon=True)

    def start(self) -> None:
        self._encoder.start()
        self._sender.start()

    def write_now(self, done: Callable[[], object]) -> None:
        """Has the buffered rows written to the spool now; then calls `done` in another thread."""
        self._waiting.append(done)
        self._encode_now.set()

    def begin_closing(self, timeout: float, is_last: bool = True) -> None:
        """Sends the rest for at most `timeout` seconds, leaves what is unsent in the spool, sets `closed`.

        Starts no thread, because a process that exits cannot. `is_last`: the scheduler closes. Otherwise the
        agent leaves a cluster that goes on.
        """
        if os.getpid() != self._process:
            self.closed.set()
        elif not self._closing.is_set():
            self._is_last = is_last
            self._deadline = time.monotonic() + timeout
            self._closing.set()
            self._encode_now.set()
            self._send_now.set()

    def close(self, timeout: float, is_last: bool = True) -> None:
        """As `begin_closing`, and waits for the end."""
        self.begin_closing(timeout, is_last)
        self.closed.wait(timeout + CLOSING)

    def _run_encoder(self) -> None:
        written = time.monotonic()
        while not self._closing.is_set():
            is_wanted = self._encode_now.wait(self.configuration.flush_interval)
            self._encode_now.clear()
            is_due = time.monotonic() - written >= self.pace.between(self.buffer.has_news) - MARGIN
            if not self._closing.is_set() and (is_wanted or is_due):
                written = time.monotonic()
                self._guarded(self._write)
        self._guarded(self._write, self._is_last)
        self._encoded_all.set()
        self._send_now.set()
        self._sent_all.wait(max(0.1, self._deadline - time.monotonic()))
        self._guarded(self._leave)
        self.closed.set()

    def _write(self, is_last: bool = False) -> None:
        """Encodes the buffered rows and writes them to disk: they outlive the process from then on."""
        waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            self._encode(is_last)
        finally:
            self._send_now.set()
            for done in waiting:
                done()

    def _leave(self) -> None:
        left = len(self.backlog)
        unwritten = self.backlog.spill_all()
        self._spool.close()
        if unwritten:
            log.error("Observatory's agent could neither send nor store %d batches", unwritten)
        if left > unwritten:
            log.warning(
                "Observatory's agent left %d batches in %s: the next agent on this machine sends them, "
                "or `python -m observatory.agent flush`",
                left - unwritten,
                self._spool.folder,
            )

    def _encode(self, is_last: bool = False) -> None:
        """Encodes the buffered rows. The last batch carries the time up to which everything was reported."""
        committed = time.time() - (0 if is_last else MARGIN)
        dropped = [dropped_row(KINDS[kind], rows, BUFFER_FULL) for kind, rows in self.buffer.trim().items()]
        last: list[EncodedRows] = []
        for pieces in divide(self.buffer.drain(), dropped):
            if last:
                self._add(last, (), 0.0)
            last = pieces
        # an empty batch shows that the cluster is alive; one is enough while none can be sent
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
        self.backlog.add(make_batch(head, pieces, dropped))
        self.backlog.persist()

    def _run_sender(self) -> None:
        try:
            self._send_all()
        finally:
            self._sent_all.set()

    def _send_all(self) -> None:
        pause = SHORTEST_RETRY
        with contextlib.closing(IngestClient(self.configuration)) as client:
            # a forked child has a copy of our memory: it must not send
            while os.getpid() == self._process and time.monotonic() < self._deadline:
                outcome = self._guarded(self._deliver, client)
                if outcome in RETRYING:
                    least = FORBIDDEN_RETRY if outcome is Outcome.FORBIDDEN else pause
                    self._wait(max(least, client.wait) * random.uniform(0.75, 1.25))
                    pause = min(LONGEST_RETRY, pause * 2)
                    continue
                pause = SHORTEST_RETRY
                if self._encoded_all.is_set() and not len(self.backlog):
                    break
                if self._adopted_spool is None or self._closing.is_set():
                    self._send_now.wait(self.configuration.flush_interval)
                    self._send_now.clear()
        if self._adopted_spool is not None:
            self._adopted_spool.close()

    def _wait(self, seconds: float) -> None:
        """Waits to try again; briefly when the scheduler is waiting for the agent to close."""
        if self._closing.is_set():
            time.sleep(min(seconds, 0.1))
        else:
            self._closing.wait(seconds)

    def _deliver(self, client: IngestClient) -> Outcome | None:
        """Sends all batches until one has to be retried. Returns the last outcome, None without batches."""
        outcome = None
        while (batch := self.backlog.first()) is not None and time.monotonic() < self._deadline:
            self._tried = self._tried or time.monotonic()
            outcome = self._send(client, batch, self._status())
            if outcome in RETRYING:
                return outcome
            self.pace.took, self.pace.is_watched = time.monotonic() - self._tried, client.is_watched
            self._tried = 0.0
            self.backlog.done(batch)
        if not self._closing.is_set():
            return self._send_abandoned(client) or outcome
        return outcome

    def _status(self) -> AgentStatus:
        waiting, spooled, spooled_bytes = self.backlog.status()
        version = getattr(observatory, "__version__", None)
        return AgentStatus(version, waiting, spooled, spooled_bytes, self.failures)

    def _send(self, client: IngestClient, batch: AgentBatch, status: AgentStatus = NO_STATUS) -> Outcome:
        outcome = send(client, batch, status)
        if client.refusal and not self._has_logged_refusal:
            self._has_logged_refusal = True
            log.error("Observatory refused records; they are counted as dropped: %s", client.refusal)
        if outcome in RETRYING and outcome is not self._retrying:
            log.warning(
                "Observatory at %s does not accept batches; they are kept: %s",
                self.configuration.url,
                client.error,
            )
        if outcome not in RETRYING and self._retrying is not None:
            log.info("Observatory at %s accepts batches again", self.configuration.url)
        self._retrying = outcome if outcome in RETRYING else None
        return outcome

    def _send_abandoned(self, client: IngestClient) -> Outcome | None:
        """Sends one batch from the spool of a stopped agent."""
        spool = self._adopted_spool = self._adopted_spool or self._next_abandoned(client)
        if spool is None:
            return None
        batch = spool.first()
        if batch is not None:
            outcome = self._send(client, batch, OVER)
            if outcome in RETRYING:
                return outcome
            spool.remove(batch.sequence)
        if not len(spool):
            spool.close()
            self._adopted_spool = None
        return None

    def _next_abandoned(self, client: IngestClient) -> Spool | None:
        spool = next(self._abandoned, None)
        if spool is None and time.monotonic() >= self._scan_again:
            self._scan_again = time.monotonic() + RESCAN
            own = self._owner["token"]
            self._abandoned = abandoned_spools(
                self._directory,
                self.configuration.url,
                lambda digest: digest == own or client.is_of_same_project(digest) is True,
            )
            spool = next(self._abandoned, None)
        return spool

    def _guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception:  # the thread must go on, or all later records are lost
            with self._counting:  # both threads may fail at once
                self.failures += 1
                is_first = self.failures == 1
            if is_first:
                log.exception("Observatory's agent failed; further failures are counted but not logged")
            return Outcome.RETRY


def send(client: IngestClient, batch: AgentBatch, status: AgentStatus = NO_STATUS) -> Outcome:
    """Sends a batch. A batch that is refused for good is sent again without its parts, one by one.

    The parts without the malformed record are stored, and the server learns what is missing.
    """
    outcome = client.send(batch.body(status))
    for importance in sorted(Importance):
        if outcome is not Outcome.REFUSED:
            break
        if importance in batch.parts:
            batch = batch.without(importance, REFUSED)
            outcome = client.send(batch.body(status))
    return outcome


def send_all(spool: Spool, deliver: Callable[[AgentBatch], Outcome]) -> int:
    """Sends a spool's batches, oldest first, until one has to be retried. Returns how many are left."""
    while (batch := spool.first()) is not None:
        if deliver(batch) in RETRYING:
            break
        spool.remove(batch.sequence)
    return len(spool)
