"""The account of the programs: under root a user without privileges. PostgreSQL refuses to run as root."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from observatory.runtime.errors import StartupError

NAME = "dask-observatory"


@dataclass(frozen=True, slots=True)
class Account:
    uid: int
    gid: int

    @property
    def is_current(self) -> bool:
        """Whether this process runs as this account."""
        return self.uid == os.geteuid()

    def process_options(self) -> dict[str, Any]:
        """Arguments of subprocess that run a program as this account."""
        return {} if self.is_current else {"user": self.uid, "group": self.gid, "extra_groups": []}

    def can(self, test: str, path: Path) -> bool:
        """Whether the account passes a test of test(1): "-x", "-w" or "-r"."""
        command = ["/usr/bin/test", test, str(path)]
        return subprocess.run(command, cwd="/", check=False, **self.process_options()).returncode == 0

    def own(self, path: Path) -> None:
        if not self.is_current:
            os.chown(path, self.uid, self.gid)


def service_account() -> Account:
    """The current account; under root the system user NAME, created if missing. Raises StartupError."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    try:
        found = pwd.getpwnam(NAME)
    except KeyError:
        found = _create()
    return Account(found.pw_uid, found.pw_gid)


def _create() -> pwd.struct_passwd:
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", NAME]
    try:
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        reason = made.stderr.strip()
    except OSError as error:
        reason = str(error)
    try:
        return pwd.getpwnam(NAME)
    except KeyError:
        raise StartupError(
            f"PostgreSQL cannot run as root, and the user {NAME} could not be created ({reason}): "
            "run as another user, or set DATABASE_URL and REDIS_URL"
        ) from None
