"""Batches that are not acknowledged yet: on disk, else in memory, both with a limit."""

from __future__ import annotations

import logging
import threading

from observatory.agent.delivery.batch import HEAD_SIZE, AgentBatch
from observatory.agent.delivery.drop_policy import DropPolicy
from observatory.agent.delivery.spool import FULL, Spool

log = logging.getLogger("distributed.observatory")


class Backlog:
    """A queue of batches for one producing and one consuming thread.

    `persist` moves batches to the spool while they fit. Over the memory limit the oldest batches move to the
    spool too, which then drops the least important rows. When the spool cannot be written (the disk is full
    or read-only), the least important rows in memory are dropped.
    """

    def __init__(self, spool: Spool, memory_limit: int) -> None:
        self.spool = spool
        self.memory_limit = memory_limit
        self._batches: dict[int, AgentBatch] = {}
        self._policy = DropPolicy()
        self._sending: int | None = None
        self._has_spool = True
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._batches) + len(self.spool)

    @property
    def memory(self) -> int:
        """Bytes of the batches in memory. A batch counts after `add` has made room for it."""
        with self._lock:
            return self._policy.bytes

    def status(self) -> tuple[int, int, int]:
        """Batches in memory and on disk; batches on disk and their bytes, without the one that is sent."""
        with self._lock:
            waiting = len(self._batches) + len(self.spool)
            sending = self._sending
            if sending is None or sending not in self.spool:
                return waiting, len(self.spool), self.spool.size
            return waiting, len(self.spool) - 1, self.spool.size - self.spool.size_of(sending)

    def add(self, batch: AgentBatch) -> None:
        with self._lock:
            self._store(batch)
            while self._policy.bytes > self.memory_limit and self._spill():
                pass
            if self._policy.bytes > self.memory_limit:
                self._drop_parts()

    def first(self) -> AgentBatch | None:
        """The oldest batch, which stays in the backlog until `done`."""
        with self._lock:
            batch = self.spool.first() or next(iter(self._batches.values()), None)
            self._sending = batch.sequence if batch is not None else None
            return batch

    def done(self, batch: AgentBatch) -> None:
        """Removes a batch that was acknowledged or refused for good."""
        with self._lock:
            self._sending = None
            if batch.sequence in self._batches:
                self._release(batch.sequence)
            elif batch.sequence in self.spool:
                self.spool.remove(batch.sequence)

    def persist(self) -> None:
        """Moves batches to disk, where they outlive the process, unless something had to be dropped."""
        with self._lock:
            while self._batches and self.spool.has_room(self._oldest()) and self._spill():
                pass

    def spill_all(self) -> int:
        """Moves all batches to disk before the process ends. Returns how many could not be written."""
        with self._lock:
            while self._batches and self._spill():
                pass
            return len(self._batches)

    def _oldest(self) -> AgentBatch:
        return next(iter(self._batches.values()))

    def _store(self, batch: AgentBatch) -> None:
        self._batches[batch.sequence] = batch
        self._policy.add(batch.sequence, HEAD_SIZE, batch.sizes)

    def _release(self, sequence: int) -> AgentBatch:
        self._policy.remove(sequence)
        return self._batches.pop(sequence)

    def _spill(self) -> bool:
        """Moves the oldest batch from memory to disk. False when there is none or the disk refuses it."""
        oldest = self._policy.oldest
        if oldest is None:
            return False
        try:
            self.spool.add(self._batches[oldest], self._sending)
        except OSError as error:
            if self._has_spool:
                log.warning(
                    "Observatory's agent cannot write to its spool: what is not sent is in memory only, "
                    "and dropped over its limit: %s",
                    error,
                )
            self._has_spool = False
            return False
        self._has_spool = True
        self._release(oldest)
        return True

    def _drop_parts(self) -> None:
        """Drops parts of batches in memory. The newest batch reports those of batches with no part left."""
        for sequence, importance in self._policy.drop(self.memory_limit, self._sending):
            self._batches[sequence] = self._batches[sequence].without(importance, FULL)
        *others, newest = self._batches
        for sequence in others:
            if self._policy.is_empty(sequence) and sequence != self._sending:
                dropped = self._release(sequence).dropped
                self._batches[newest] = self._batches[newest].with_dropped(dropped)
