"""The data folder: private, owned by the services' account, locked by one `up` at a time."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import IO

from observatory.base.environment import run_dir
from observatory.runtime.embedded.account import Account
from observatory.runtime.errors import StartupError
from observatory.store.outages.free_space import RESERVE

PRIVATE = 0o700
HERE = "/proc/self/cwd"
"""the working directory, accessible even if the account may not enter a parent folder"""
LOCK = "lock"
SOFTWARE = "software"
"""copies of programs for the account; they stay root's"""
HOME = "home"
"""the home folder of an account that has none"""
OWN_ENTRIES = {
    "exchange",
    "secret_key",
    "static",
    "logs",
    "run",
    "postgres",
    "postgres.unfinished",
    "valkey",
    SOFTWARE,
    HOME,
}
"""entries that other commands, or a start that was killed early, leave in a folder without a lock"""


class DataFolder:
    """The folder `path` with postgres/, valkey/, logs/, secret_key and the lock; and the sockets' folder."""

    def __init__(self, path: Path, account: Account) -> None:
        self.path = path
        self.account = account
        self.run = run_dir(path)
        self.logs = path / "logs"
        self._lock: IO[str] | None = None

    def prepare(self) -> None:
        """Create what is missing, without changing a parent folder. Raises StartupError."""
        try:
            self.path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
            self.check_free_space()
            self._check_entries()
            for folder in (self.path, self.run, self.logs):
                self.private(folder)
            self._create_secret_key()
        except OSError as error:
            raise StartupError(
                f"the data folder {self.path} cannot be written ({error.strerror}): "
                "choose another with --data-dir"
            ) from None

    def check_free_space(self) -> None:
        """Raises StartupError if the services could not start for lack of disk space."""
        free = shutil.disk_usage(self.path).free
        if free < RESERVE:
            raise self.disk_full(f"{free >> 20} MiB are free, {RESERVE >> 20} MiB are needed")

    def disk_full(self, reason: str) -> StartupError:
        return StartupError(
            f"the disk of the data folder {self.path} is full ({reason}): "
            "free disk space, or choose another folder with --data-dir"
        )

    def private(self, folder: Path) -> Path:
        """Create `folder`, accessible to the services' account only."""
        folder.mkdir(mode=PRIVATE, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid not in (self.account.uid, os.geteuid()):
            raise StartupError(
                f"{folder} belongs to another user: choose another data folder with --data-dir"
            )
        folder.chmod(PRIVATE)
        self.account.own(folder)
        return folder

    def give_to_account(self) -> None:
        """Give the account what root owns in the folder: earlier versions ran their programs as root.

        Follows no symbolic links. Leaves files with several hard links, which may be files outside.
        """
        for path, folders, files, opened in os.fwalk(self.path):
            if path == os.fspath(self.path) and SOFTWARE in folders:
                folders.remove(SOFTWARE)
            for name in (*folders, *files):
                found = os.stat(name, dir_fd=opened, follow_symlinks=False)
                if found.st_uid == 0 and (stat.S_ISDIR(found.st_mode) or found.st_nlink == 1):
                    os.chown(name, self.account.uid, self.account.gid, dir_fd=opened, follow_symlinks=False)

    def run_seen_from(self, folder: Path) -> str:
        """The sockets' folder as a path for a service whose working directory is `folder`."""
        return "../run" if self.run.parent == folder.parent else str(self.run)

    def lock(self) -> None:
        """Lock the folder until this process ends. Raises StartupError if another process has the lock."""
        self._lock = (self.path / LOCK).open("a+")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.seek(0)
            holder = self._lock.read().strip() or "another process"
            raise StartupError(
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

    def _check_entries(self) -> None:
        """Protects a folder of other files, such as a home folder that was given by mistake."""
        names = set(os.listdir(self.path))
        if LOCK not in names and not names <= OWN_ENTRIES:
            raise StartupError(
                f"{self.path} contains other files: choose an empty folder, or a new one, with --data-dir"
            )

    def _create_secret_key(self) -> None:
        path = self.path / "secret_key"
        if path.exists():
            return
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(50))
