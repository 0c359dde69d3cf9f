"""The backlog on disk: a folder for each agent, with one file for each batch's head and each of its parts.

A part that the head lists but that has no file was dropped, and is reported as dropped. Files are written
without fsync: they survive the process. Files damaged by a crash of the machine are reported as damaged.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from observatory.agent.delivery.batch import AgentBatch, BatchPart
from observatory.agent.delivery.drop_policy import DropPolicy
from observatory.wire.dropped_records import DropReason
from observatory.wire.head import Head
from observatory.wire.kind import Importance

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

log = logging.getLogger("distributed.observatory")

DIGEST = re.compile(r"[0-9a-f]{16}")
LOCK, OWNER = "lock", "owner.json"
HEAD = "head"
FULL, DAMAGED = DropReason.SPOOL_FULL.value, DropReason.DAMAGED.value


class Spool:
    """The spool folder of one agent, created on first use. Not thread-safe."""

    def __init__(self, folder: Path, limit: int, owner: Mapping[str, str]) -> None:
        """`limit` is in bytes; `owner` is the value of `owner_of`."""
        self.folder = folder
        self.limit = limit
        self.owner = owner
        self.damaged = 0
        self._lock: IO[str] | None = None
        self._policy = DropPolicy()
        self._empty: list[int] = []
        """Batches with no part left. The next batch reports their dropped rows."""

    def __len__(self) -> int:
        return len(self._policy)

    def __contains__(self, sequence: int) -> bool:
        return sequence in self._policy

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return self._policy.bytes

    def size_of(self, sequence: int) -> int:
        """Bytes of one batch's files."""
        return self._policy.size_of(sequence)

    def has_room(self, batch: AgentBatch) -> bool:
        """Whether the batch fits without dropping anything."""
        return self.size + len(_head_json(batch)) + sum(batch.sizes.values()) <= self.limit

    def open(self) -> bool:
        """Creates and locks the folder. False when another process has the lock. Raises OSError."""
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        for folder in (self.folder.parent, self.folder):
            _check_owner(folder)
        lock = open(self.folder / LOCK, "w", opener=_private)  # noqa: SIM115 held until `close`
        try:
            _lock(lock)
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
        """Releases the folder and deletes it if it is empty."""
        if self._lock is None:
            return
        if sys.platform == "win32":
            self._lock.close()  # or the folder cannot be deleted
        if not len(self):
            shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()
        self._lock = None

    def add(self, batch: AgentBatch, sending: int | None = None) -> None:
        """Writes a batch. Over the limit, less important and older parts are dropped first.

        The batch with sequence number `sending` is left whole. On OSError the batch is not in the spool.
        """
        if self._lock is None and not self.open():
            raise OSError(f"{self.folder} is locked by another process")
        sequence = batch.sequence
        self._policy.add(sequence, len(_head_json(batch)), batch.sizes)
        for dropped, importance in self._policy.drop(self.limit, sending):
            if dropped == sequence:
                batch = batch.without(importance, FULL)
            else:
                self._unlink(dropped, importance.name)
                if self._policy.is_empty(dropped):
                    self._empty.append(dropped)
        empty = [emptied for emptied in self._empty if emptied in self and emptied != sending]
        for emptied in empty:
            found = self._read(emptied)
            batch = batch.with_dropped(found.dropped if found is not None else ())
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

    def first(self) -> AgentBatch | None:
        """The oldest batch that can be read; None when there is none."""
        while (sequence := self._policy.oldest) is not None:
            batch = self._read(sequence)
            if batch is not None:
                return batch
            self.remove(sequence)
        return None

    def remove(self, sequence: int) -> None:
        """Deletes a batch."""
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

    def _write(self, batch: AgentBatch) -> None:
        for importance, part in batch.parts.items():
            _write_file(self._path(batch.sequence, importance.name), part.data)
        head = _head_json(batch)
        _write(self._path(batch.sequence, HEAD), head)
        self._policy.resize(batch.sequence, len(head))

    def _read(self, sequence: int) -> AgentBatch | None:
        """Reads a batch; None when its head is damaged. Damaged and missing parts are reported as dropped."""
        try:
            head: dict[str, Any] = json.loads(self._path(sequence, HEAD).read_bytes())
            parts, checks = {}, {}
            for name, part in head["parts"].items():
                counts = {kind: (count, first, last) for kind, (count, first, last) in part["counts"].items()}
                parts[Importance[name]] = BatchPart(self._data(sequence, name), counts)
                checks[Importance[name]] = part["check"]
            batch = AgentBatch(Head(**head["head"]), parts, [tuple(row) for row in head["dropped"]])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self._count_damage(sequence)
            return None
        for importance, part in parts.items():
            if not part.data:
                batch = batch.without(importance, FULL)
            elif zlib.crc32(part.data) != checks[importance]:
                self._count_damage(sequence)
                batch = batch.without(importance, DAMAGED)
        return batch

    def _data(self, sequence: int, name: str) -> bytes:
        try:
            return self._path(sequence, name).read_bytes()
        except FileNotFoundError:
            return b""

    def _count_damage(self, sequence: int) -> None:
        self.damaged += 1
        if self.damaged == 1:
            log.warning(
                "A batch in Observatory's spool is damaged (%s): unreadable parts are skipped",
                self._path(sequence, HEAD),
            )


def owner_of(url: str, token: str) -> dict[str, str]:
    """Identifies the owner of a spool: the server, and the token, which tells the project there."""
    return {"url": url, "token": hashlib.sha256(token.encode()).hexdigest()[:16]}


def abandoned_spools(directory: Path, url: str, is_ours: Callable[[str], bool]) -> Iterator[Spool]:
    """Opened spools of stopped agents for this server, oldest first.

    `is_ours`: whether the token with this digest is one of the same project.
    """
    for path in sorted(directory.glob(f"*/{OWNER}"), key=lambda path: _changed(path)):
        try:
            found = json.loads(path.read_bytes())
            spool = Spool(path.parent, 1 << 62, found)
            if found["url"] != url or not DIGEST.fullmatch(found["token"]) or not spool.open():
                continue
            if not is_ours(found["token"]):
                spool.close()
                continue
            yield spool
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue


def _lock(file: IO[str]) -> None:
    """Locks a file until it is closed or its process ends. Raises OSError when it is locked already."""
    if sys.platform == "win32":
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _check_owner(folder: Path) -> None:
    """Refuses a folder of another user, who could read the batches or add some. Raises PermissionError."""
    if hasattr(os, "getuid"):
        found = folder.lstat()
        if found.st_uid not in (os.getuid(), 0):
            raise PermissionError(f"{folder} belongs to another user")


def _head_json(batch: AgentBatch) -> bytes:
    """The contents of a batch's head file."""
    return json.dumps(
        {
            "head": {name: value for name, value in asdict(batch.head).items() if name != "status"},
            "parts": {
                importance.name: {"check": zlib.crc32(part.data), "counts": part.counts}
                for importance, part in batch.parts.items()
            },
            "dropped": list(batch.dropped),
        }
    ).encode()


def _private(path: str, flags: int) -> int:
    """Opens a file that only this user can read."""
    return os.open(path, flags, 0o600)


def _write_file(path: Path, data: bytes) -> None:
    with open(path, "wb", opener=_private) as file:
        file.write(data)


def _write(path: Path, data: bytes) -> None:
    """Writes a file atomically."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    _write_file(unfinished, data)
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
