"""Batches that aren't acknowledged yet, oldest first: in memory, then on disk, bounded both."""

from __future__ import annotations

import logging
import threading

from observatory.agent.delivery.batch import HEAD_SIZE, Batch
from observatory.agent.delivery.drop_policy import DropPolicy
from observatory.agent.delivery.spool import FULL, Spool

log = logging.getLogger("distributed.observatory")


class Backlog:
    """For one thread that adds and one that takes.

    Over the memory's limit the oldest go to the spool. Where there can be no spool (a disk that is full or
    read-only), memory is all there is, and what counts least is dropped from it.
    """

    def __init__(self, spool: Spool, memory_limit: int) -> None:
        self.spool = spool
        self.memory_limit = memory_limit
        self._batches: dict[int, Batch] = {}
        self._policy = DropPolicy()
        self._sending: int | None = None
        self._has_spool = True
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._batches) + len(self.spool)

    @property
    def memory(self) -> int:
        """Bytes; a batch that is being added counts once there is room for it."""
        with self._lock:
            return self._policy.bytes

    def add(self, batch: Batch) -> None:
        with self._lock:
            self._hold(batch)
            while self._policy.bytes > self.memory_limit and self._spill():
                pass
            if self._policy.bytes > self.memory_limit:
                self._cut()

    def first(self) -> Batch | None:
        """The oldest one; it stays until it is `done`."""
        with self._lock:
            batch = self.spool.first() or next(iter(self._batches.values()), None)
            self._sending = batch.sequence if batch is not None else None
            return batch

    def done(self, batch: Batch) -> None:
        """It is acknowledged, or will never be."""
        with self._lock:
            self._sending = None
            if batch.sequence in self._batches:
                self._release(batch.sequence)
            elif batch.sequence in self.spool:
                self.spool.remove(batch.sequence)

    def keep(self) -> int:
        """Puts all on disk, for this process ends. How many batches there was no room for."""
        with self._lock:
            while self._batches and self._spill():
                pass
            return len(self._batches)

    def _hold(self, batch: Batch) -> None:
        self._batches[batch.sequence] = batch
        self._policy.add(batch.sequence, HEAD_SIZE, batch.sizes)

    def _release(self, sequence: int) -> Batch:
        self._policy.remove(sequence)
        return self._batches.pop(sequence)

    def _spill(self) -> bool:
        """Moves the oldest one from memory to disk; False when there is none, or no disk."""
        oldest = self._policy.oldest
        if oldest is None:
            return False
        try:
            self.spool.add(self._batches[oldest], self._sending)
        except OSError as error:
            if self._has_spool:
                log.warning("Observatory's agent can't write to its spool, and keeps less: %s", error)
            self._has_spool = False
            return False
        self._has_spool = True
        self._release(oldest)
        return True

    def _cut(self) -> None:
        """Drops parts of batches in memory; the newest one tells of those that nothing is left of."""
        for sequence, importance in self._policy.make(self.memory_limit, self._sending):
            self._batches[sequence] = self._batches[sequence].without(importance, FULL)
        *others, newest = self._batches
        for sequence in others:
            if self._policy.is_empty(sequence) and sequence != self._sending:
                dropped = self._release(sequence).dropped
                self._batches[newest] = self._batches[newest].telling(dropped)
