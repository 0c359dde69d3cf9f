"""What a receiver has of a run, so that a later attempt goes on where the last one ended."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

DIGEST_SIZE = 16


class Changed(Exception):
    """What is sent of the run isn't what was sent before."""


class Progress:
    """Counts the requests that were accepted, by signal, and keeps a digest of them."""

    def __init__(self, accepted: Mapping[str, Any] | None = None) -> None:
        """`accepted`: of an earlier attempt."""
        self.accepted = {
            signal: (int(count), str(digest)) for signal, (count, digest) in (accepted or {}).items()
        }
        self.has_grown = False
        self.start_again()

    def start_again(self) -> None:
        """The requests come from the first one on."""
        self._come: dict[str, tuple[int, Any]] = {}

    def forget(self) -> None:
        """Of what was accepted."""
        self.accepted.clear()
        self.start_again()

    def has(self, signal: str, body: bytes) -> bool:
        """Whether the next request of a signal was accepted before. Raises Changed."""
        count, digest = self._next(signal, body)
        known, of_known = self.accepted.get(signal, (0, ""))
        if count > known:
            return False
        if count == known and digest.hexdigest() != of_known:
            raise Changed
        self._come[signal] = count, digest
        return True

    def add(self, signal: str, body: bytes) -> None:
        """The receiver accepted the next request."""
        count, digest = self._next(signal, body)
        self._come[signal] = count, digest
        self.accepted[signal] = count, digest.hexdigest()
        self.has_grown = True

    def check_end(self) -> None:
        """All requests have come. Raises Changed where there were more of a signal before."""
        if any(count < self.accepted.get(signal, (0, ""))[0] for signal, (count, _) in self._come.items()):
            raise Changed

    def _next(self, signal: str, body: bytes) -> tuple[int, Any]:
        count, before = self._come.get(signal, (0, blake2b(digest_size=DIGEST_SIZE)))
        digest = before.copy()
        digest.update(body)
        return count + 1, digest
