"""The backlog on disk: a folder an agent, a file a batch's head and one each of its parts.

A part that its head names and that isn't there was dropped, or damaged: that is told in its place.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from observatory.wire.batches import Head
from observatory.wire.kinds import Importance

if TYPE_CHECKING:
    from observatory.agent.backlog import Batch

try:
    import fcntl
except ImportError:  # not on Windows: there a spool is adopted by hand
    fcntl = None  # type: ignore[assignment]

LOCK, OWNER = "lock", "owner.json"
HEAD = "head"
FULL = "spool-full"


class Spool:
    """One agent's folder, made when it is needed first. Not for two threads at the same time."""

    def __init__(self, folder: Path, limit: int, url: str) -> None:
        self.folder = folder
        self.limit = limit
        self.url = url
        self._lock: IO[str] | None = None
        self._sizes: dict[int, dict[Importance, int]] = {}
        """bytes of the parts of each batch, in order"""

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def size(self) -> int:
        """bytes"""
        return sum(sum(sizes.values()) for sizes in self._sizes.values())

    def open(self) -> bool:
        """Takes the folder; False when another process has it."""
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        lock = (self.folder / LOCK).open("w")
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            return False
        self._lock = lock
        owner = self.folder / OWNER
        if not owner.exists():
            owner.write_text(json.dumps({"url": self.url}))
        for head in sorted(self.folder.glob(f"*.{HEAD}")):
            if head.stem.isdecimal():
                self._sizes[int(head.stem)] = dict(self._parts(int(head.stem)))
        return True

    def close(self) -> None:
        """Gives the folder back; an empty one is removed."""
        if self._lock is None:
            return
        if not self._sizes:
            shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()
        self._lock = None

    def add(self, batch: Batch) -> None:
        """Writes the batch, at the cost of less important ones where there is no room."""
        if self._lock is None and not self.open():
            return
        sequence = batch.head.sequence
        for importance, part in batch.parts.items():
            self._path(sequence, importance.name).write_bytes(part.data)
        self._write_head(batch)
        self._sizes[sequence] = {importance: len(part.data) for importance, part in batch.parts.items()}
        self._make_room()

    def first(self) -> Batch | None:
        """The oldest batch; None when there is none."""
        while self._sizes:
            sequence = next(iter(self._sizes))
            batch = self._read(sequence)
            if batch is not None:
                return batch
            self.remove(sequence)
        return None

    def remove(self, sequence: int) -> None:
        self._sizes.pop(sequence, None)
        for path in self.folder.glob(f"{sequence:012d}.*"):
            with contextlib.suppress(OSError):
                path.unlink()

    def _make_room(self) -> None:
        for importance in sorted(Importance):
            for sequence in list(self._sizes):
                if self.size <= self.limit:
                    return
                if importance in self._sizes[sequence]:
                    del self._sizes[sequence][importance]
                    with contextlib.suppress(OSError):
                        self._path(sequence, importance.name).unlink()

    def _parts(self, sequence: int) -> Iterator[tuple[Importance, int]]:
        for importance in Importance:
            with contextlib.suppress(OSError):
                yield importance, self._path(sequence, importance.name).stat().st_size

    def _path(self, sequence: int, what: str) -> Path:
        return self.folder / f"{sequence:012d}.{what}"

    def _write_head(self, batch: Batch) -> None:
        told = {
            "head": asdict(batch.head),
            "parts": {
                importance.name: {"size": len(part.data), "counts": part.counts}
                for importance, part in batch.parts.items()
            },
            "dropped": batch.dropped,
        }
        path = self._path(batch.head.sequence, HEAD)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(told))
        os.replace(unfinished, path)

    def _read(self, sequence: int) -> Batch | None:
        from observatory.agent.backlog import Batch, Part

        try:
            told: dict[str, Any] = json.loads(self._path(sequence, HEAD).read_text())
            batch = Batch(Head(**told["head"]), {}, [tuple(row) for row in told["dropped"]])
            for name, part in told["parts"].items():
                importance = Importance[name]
                counts = {kind: (count, first, last) for kind, (count, first, last) in part["counts"].items()}
                batch.parts[importance] = Part(self._data(sequence, name), counts)
                if len(batch.parts[importance].data) != part["size"]:
                    batch.drop(importance, FULL)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return batch

    def _data(self, sequence: int, name: str) -> bytes:
        try:
            return self._path(sequence, name).read_bytes()
        except OSError:
            return b""


def left_behind(directory: Path, url: str) -> Iterator[Spool]:
    """The folders of agents that are gone, opened, as far as they reported to `url`."""
    for owner in sorted(directory.glob(f"*/{OWNER}"), key=lambda path: path.stat().st_mtime):
        try:
            told = json.loads(owner.read_text())["url"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        spool = Spool(owner.parent, 1 << 62, url)
        if told == url and spool.open():
            yield spool
