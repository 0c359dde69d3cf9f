"""The data folder: private, owned by the services' account, used by one `up` at a time."""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from typing import IO

from observatory.config.environment import run_dir
from observatory.runtime.embedded.account import Account
from observatory.runtime.errors import RuntimeFault

PRIVATE = 0o700
HERE = "/proc/self/cwd"
"""the working directory, reached without walking to it from /: folders above may be closed to the account"""
LOCK = "lock"
MADE_BEFORE = {
    "exchange",
    "secret_key",
    "static",
    "logs",
    "run",
    "postgres",
    "postgres.unfinished",
    "valkey",
    "software",
}
"""what other commands and a start that was killed at once leave in it, before there is a lock"""


class DataFolder:
    """`path` and what is in it: postgres/, valkey/, logs/, secret_key, the lock; and the sockets' folder."""

    def __init__(self, path: Path, account: Account) -> None:
        self.path = path
        self.account = account
        self.run = run_dir(path)
        self.logs = path / "logs"
        self._lock: IO[str] | None = None

    def prepare(self) -> None:
        """Makes what isn't there; never changes a folder above. Raises RuntimeFault."""
        try:
            self.path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
            self._check_is_ours()
            for folder in (self.path, self.run, self.logs):
                self.private(folder)
            self._make_secret_key()
        except OSError as error:
            raise RuntimeFault(
                f"the data folder {self.path} can't be written ({error.strerror}): "
                "choose another with --data-dir"
            ) from None

    def private(self, folder: Path) -> Path:
        """Makes `folder` and gives it to the services' account alone."""
        folder.mkdir(mode=PRIVATE, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid not in (self.account.uid, os.geteuid()):
            raise RuntimeFault(
                f"{folder} belongs to somebody else: choose another data folder with --data-dir"
            )
        folder.chmod(PRIVATE)
        self.account.own(folder)
        return folder

    def run_seen_from(self, folder: Path) -> str:
        """The sockets' folder for a service that works in `folder`: folders above may be closed to it."""
        return "../run" if self.run.parent == folder.parent else str(self.run)

    def lock(self) -> None:
        """Held until this process ends, however it ends. Raises RuntimeFault when another holds it."""
        self._lock = (self.path / LOCK).open("a+")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.seek(0)
            holder = self._lock.read().strip() or "another process"
            raise RuntimeFault(
                f"the data folder {self.path} is in use by {holder}: "
                "stop that, or choose another with --data-dir"
            ) from None
        self._lock.truncate(0)
        self._lock.write(f"process {os.getpid()}")
        self._lock.flush()

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _check_is_ours(self) -> None:
        """So that a home folder, given by mistake, isn't taken from its owner."""
        names = set(os.listdir(self.path))
        if LOCK not in names and not names <= MADE_BEFORE:
            raise RuntimeFault(
                f"{self.path} holds other things: choose an empty folder, or a new one, with --data-dir"
            )

    def _make_secret_key(self) -> None:
        path = self.path / "secret_key"
        if path.exists():
            return
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(50))
