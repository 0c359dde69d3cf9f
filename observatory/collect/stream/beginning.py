"""Detects that a cluster's first tasks may have finished before its event stream was received.

The stream announces each client that connects. One that was not announced connected, and may have computed,
earlier.
"""

from __future__ import annotations

HANDSHAKE = 0.1
"""Seconds after a handshake within which what finished during it is over: that is not announced."""


class Beginning:
    """The time from the start of a cluster until its stream is received."""

    def __init__(self, started: float) -> None:
        self.started = started
        """When the cluster started. This and all times are on the scheduler's clock."""
        self.received: float | None = None
        """From when on the stream is received."""
        self.is_known = False
        """Whether it is known if tasks may be missing."""
        self.is_missing = False
        self.unannounced = 0
        """Polls that showed a client which was not announced."""

    def stream_opened(self, now: float) -> None:
        self.received = self.received or now + HANDSHAKE

    def client_announced(self) -> None:
        """A client connected: all that it does is announced."""
        self.is_known = True

    def work_announced(self) -> None:
        """A client submitted tasks, or one finished."""
        self.is_missing = self.is_missing or not self.is_known
        self.is_known = True

    def add_activity(self, amount: float) -> None:
        """Adds a poll. `amount`: of clients and tasks, or of seconds that were computed."""
        if amount:
            self.unannounced += 1
            # its announcement may be on the way
            if self.received is None or self.unannounced > 1:
                self.work_announced()

    def missing(self, ended: float | None = None) -> tuple[float, float] | None:
        """From when to when tasks may be missing, once; None if there is nothing to tell yet.

        `ended`: when the cluster ended.
        """
        until = self.received or ended
        if not self.is_missing or until is None:
            return None
        self.is_missing = False
        return self.started, until
