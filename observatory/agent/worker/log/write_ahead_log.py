"""The write-ahead log of a worker or nanny: rows that the scheduler has not acknowledged yet.

Messages are kept in memory and in a file. The file survives when the process is killed: the nanny reads it
and sends the remaining messages under the dead process's own numbers, so that none is stored twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
import threading
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from observatory.wire.dropped_records import DropReason
from observatory.wire.kinds import KINDS

Records = dict[str, list[Any]]

MAXIMUM_ROWS = 50_000
"""Most rows in memory; further rows are dropped and counted."""
MAXIMUM_FILE = 4 * 2**20
"""Bytes."""
ROWS = 2_000
"""Most rows of one kind in a message."""


@dataclass(frozen=True)
class Message:
    """The arguments of the scheduler's handler (WorkerMessages.take)."""

    origin: str
    """Id of the process that recorded the rows."""
    number: int
    """Counts up from 1 for each origin."""
    address: str
    """The worker's address."""
    records: Records


class WriteAheadLog:
    """Takes rows from any thread and groups them into messages for one MessageSender."""

    def __init__(self, path: Path | None = None) -> None:
        self.origin = uuid.uuid4().hex
        self.path = path
        self._lock = threading.RLock()
        self._rows: Records = {}
        self._count = 0
        self._number = 0
        self._messages: deque[Message] = deque()
        self._dropped: dict[str, tuple[int, float, float]] = {}
        self._file: IO[str] | None = None
        self.failures = 0

    def append(self, kind: str, row: Iterable[Any]) -> None:
        """Adds a row."""
        with self._lock:
            if self._count >= MAXIMUM_ROWS:
                self._drop(kind, tuple(row))
                return
            self._rows.setdefault(kind, []).append(list(row))
            self._count += 1

    def seal(self, address: str) -> None:
        """Groups the rows into messages and writes them to the file, where they survive this process."""
        with self._lock:
            self._report_dropped()
            while self._rows:
                part = {kind: rows[:ROWS] for kind, rows in self._rows.items()}
                self._rows = {kind: rows[ROWS:] for kind, rows in self._rows.items() if len(rows) > ROWS}
                self._number += 1
                message = Message(self.origin, self._number, address, part)
                self._messages.append(message)
                self._write(message)

    def first(self) -> Message | None:
        """The oldest message, which stays in the log until `done`."""
        with self._lock:
            return self._messages[0] if self._messages else None

    def done(self, message: Message) -> None:
        """Removes a message that the scheduler acknowledged."""
        with self._lock:
            if self._messages and self._messages[0] is message:
                self._messages.popleft()
                self._count -= sum(map(len, message.records.values()))
                if not self._messages:
                    self._truncate()

    def add_messages(self, messages: Iterable[Message]) -> None:
        """Adds the messages that another process left."""
        with self._lock:
            for message in messages:
                self._messages.append(message)
                self._count += sum(map(len, message.records.values()))

    def close(self) -> None:
        """Deletes the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
            if self.path is not None:
                with contextlib.suppress(OSError):
                    self.path.unlink()

    def _drop(self, kind: str, row: tuple[Any, ...]) -> None:
        time = float(row[KINDS[kind].time_index])
        count, first, _ = self._dropped.get(kind, (0, time, time))
        self._dropped[kind] = (count + 1, first, time)

    def _report_dropped(self) -> None:
        for kind, (count, first, last) in self._dropped.items():
            row = [first, last, kind, count, DropReason.SPOOL_FULL.value]
            self._rows.setdefault("dropped", []).append(row)
            self._count += 1
        self._dropped = {}

    def _write(self, message: Message) -> None:
        if self.path is None:
            return
        try:
            if self._file is None:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file = open(self.path, "w", opener=_private)  # noqa: SIM115 kept open
            if self._file.tell() < MAXIMUM_FILE:
                self._file.write(json.dumps(vars(message), default=str) + "\n")
                self._file.flush()
        except (OSError, ValueError, TypeError):
            self.failures += 1

    def _truncate(self) -> None:
        if self._file is not None:
            try:
                self._file.seek(0)
                self._file.truncate()
            except OSError:
                self.failures += 1


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def folder() -> Path:
    """The folder of the log files of this user's workers."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"dask-observatory-wal-{user}"


def path_for(nanny: str, pid: int) -> Path:
    """The log file of the worker process `pid`, run by the nanny at address `nanny`."""
    return folder() / f"{re.sub('[^0-9A-Za-z]+', '-', nanny)}.{pid}.jsonl"


def read_messages(path: Path) -> Iterator[Message]:
    """The messages in the log file of a dead process, up to the first incomplete line."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        try:
            yield Message(**json.loads(line))
        except (ValueError, TypeError):
            return
