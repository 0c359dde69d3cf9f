"""The backlog on disk: a folder an agent, a file a batch's head and one each of its parts.

A part that its head names and that isn't there was dropped for want of room: that is told in its place. Files
are written without fsync: they outlive the process, and of those that a machine's end damages it is told.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from observatory.agent.delivery.batch import Batch, Part
from observatory.agent.delivery.drop_policy import DropPolicy
from observatory.wire.head import Head
from observatory.wire.kinds import Importance

try:
    import fcntl
except ImportError:  # not on Windows: there a spool is adopted by hand
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("distributed.observatory")

LOCK, OWNER = "lock", "owner.json"
HEAD = "head"
FULL, DAMAGED = "spool-full", "damaged"


class Spool:
    """One agent's folder, made when it is needed first. Not for two threads at the same time."""

    def __init__(self, folder: Path, limit: int, owner: Mapping[str, str]) -> None:
        """`limit` in bytes; `owner` is what `owner_of` says."""
        self.folder = folder
        self.limit = limit
        self.owner = owner
        self.damaged = 0
        self._lock: IO[str] | None = None
        self._policy = DropPolicy()
        self._empty: list[int] = []
        """batches that consist of a head alone: the next one tells what they would have"""

    def __len__(self) -> int:
        return len(self._policy)

    def __contains__(self, sequence: int) -> bool:
        return sequence in self._policy

    @property
    def size(self) -> int:
        """bytes"""
        return self._policy.bytes

    def open(self) -> bool:
        """Takes the folder; False when another process has it. Raises OSError where there can't be one."""
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        for folder in (self.folder.parent, self.folder):
            _check_owner(folder)
        lock = (self.folder / LOCK).open("w")
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            return False
        self._lock = lock
        if not (self.folder / OWNER).exists():
            _write(self.folder / OWNER, json.dumps(dict(self.owner)).encode())
        for head in sorted(self.folder.glob(f"*.{HEAD}")):
            if head.stem.isdecimal():
                sequence = int(head.stem)
                self._policy.add(sequence, _size(head) or 0, dict(self._part_sizes(sequence)))
        return True

    def close(self) -> None:
        """Gives the folder back; an empty one is removed."""
        if self._lock is None:
            return
        if not len(self):
            shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()
        self._lock = None

    def add(self, batch: Batch, sending: int | None = None) -> None:
        """Writes the batch, at the cost of less important and of older ones where there is no room.

        The one of sequence `sending` is left as it is. Raises OSError; then the batch isn't in the spool.
        """
        if self._lock is None and not self.open():
            raise OSError(f"another process has {self.folder}")
        sequence = batch.sequence
        self._policy.add(sequence, len(_told(batch)), batch.sizes)
        for victim, importance in self._policy.make(self.limit, sending):
            if victim == sequence:
                batch = batch.without(importance, FULL)
            else:
                self._unlink(victim, importance.name)
                if self._policy.is_empty(victim):
                    self._empty.append(victim)
        empty = [emptied for emptied in self._empty if emptied in self and emptied != sending]
        for emptied in empty:
            told = self._read(emptied)
            batch = batch.telling(told.dropped if told is not None else ())
        try:
            self._write(batch)
        except BaseException:
            self.remove(sequence)
            raise
        for emptied in empty:
            self.remove(emptied)
        self._empty = [emptied for emptied in self._empty if emptied in self]
        if not batch.parts:
            self._empty.append(sequence)

    def first(self) -> Batch | None:
        """The oldest batch; None when there is none."""
        while (sequence := self._policy.oldest) is not None:
            batch = self._read(sequence)
            if batch is not None:
                return batch
            self.remove(sequence)
        return None

    def remove(self, sequence: int) -> None:
        self._policy.remove(sequence)
        for what in (HEAD, *Importance.__members__):
            self._unlink(sequence, what)

    def _path(self, sequence: int, what: str) -> Path:
        return self.folder / f"{sequence:012d}.{what}"

    def _unlink(self, sequence: int, what: str) -> None:
        with contextlib.suppress(OSError):
            self._path(sequence, what).unlink()

    def _part_sizes(self, sequence: int) -> Iterator[tuple[Importance, int]]:
        for importance in Importance:
            size = _size(self._path(sequence, importance.name))
            if size is not None:
                yield importance, size

    def _write(self, batch: Batch) -> None:
        for importance, part in batch.parts.items():
            self._path(batch.sequence, importance.name).write_bytes(part.data)
        told = _told(batch)
        _write(self._path(batch.sequence, HEAD), told)
        self._policy.resize(batch.sequence, len(told))

    def _read(self, sequence: int) -> Batch | None:
        """None where the head is damaged; of a damaged part it is told that it is lost."""
        try:
            told: dict[str, Any] = json.loads(self._path(sequence, HEAD).read_bytes())
            parts, checks = {}, {}
            for name, part in told["parts"].items():
                counts = {kind: (count, first, last) for kind, (count, first, last) in part["counts"].items()}
                parts[Importance[name]] = Part(self._data(sequence, name), counts)
                checks[Importance[name]] = part["check"]
            batch = Batch(Head(**told["head"]), parts, [tuple(row) for row in told["dropped"]])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self._found_damage(sequence)
            return None
        for importance, part in parts.items():
            if not part.data:
                batch = batch.without(importance, FULL)
            elif zlib.crc32(part.data) != checks[importance]:
                self._found_damage(sequence)
                batch = batch.without(importance, DAMAGED)
        return batch

    def _data(self, sequence: int, name: str) -> bytes:
        try:
            return self._path(sequence, name).read_bytes()
        except FileNotFoundError:
            return b""

    def _found_damage(self, sequence: int) -> None:
        self.damaged += 1
        if self.damaged == 1:
            log.warning(
                "A batch in Observatory's spool is damaged (%s): what can't be read is skipped",
                self._path(sequence, HEAD),
            )


def owner_of(url: str, token: str) -> dict[str, str]:
    """Whose batches a folder has: no agent of another project, with another token, sends them."""
    return {"url": url, "token": hashlib.sha256(token.encode()).hexdigest()[:16]}


def left_behind(directory: Path, owner: Mapping[str, str]) -> Iterator[Spool]:
    """The folders of agents that are gone, opened, the oldest first, as far as `owner` may send them."""
    for path in sorted(directory.glob(f"*/{OWNER}"), key=lambda path: _changed(path)):
        try:
            told = json.loads(path.read_bytes())
            spool = Spool(path.parent, 1 << 62, told)
            if owner.items() <= told.items() and spool.open():
                yield spool
        except (OSError, ValueError, TypeError, AttributeError):
            continue


def _check_owner(folder: Path) -> None:
    """Somebody else could have made a folder of the name that ours has, to read it or to fill it."""
    if hasattr(os, "getuid"):
        found = folder.lstat()
        if found.st_uid not in (os.getuid(), 0):
            raise PermissionError(f"{folder} belongs to somebody else")


def _told(batch: Batch) -> bytes:
    return json.dumps(
        {
            "head": asdict(batch.head),
            "parts": {
                importance.name: {"check": zlib.crc32(part.data), "counts": part.counts}
                for importance, part in batch.parts.items()
            },
            "dropped": list(batch.dropped),
        }
    ).encode()


def _write(path: Path, data: bytes) -> None:
    """Whole, or not at all."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_bytes(data)
    os.replace(unfinished, path)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
