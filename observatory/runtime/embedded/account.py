"""The account that the embedded services run as: PostgreSQL refuses to run as root, and it shouldn't."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from observatory.runtime.errors import RuntimeFault

NAME = "dask-observatory"


@dataclass(frozen=True, slots=True)
class Account:
    uid: int
    gid: int

    @property
    def is_ours(self) -> bool:
        """True when this process already runs as it."""
        return self.uid == os.geteuid()

    def process_options(self) -> dict[str, Any]:
        """What makes subprocess run a program as this account."""
        return {} if self.is_ours else {"user": self.uid, "group": self.gid, "extra_groups": []}

    def can(self, test: str, path: Path) -> bool:
        """`test` is one of test(1)'s: "-x", "-w", "-r"."""
        command = ["/usr/bin/test", test, str(path)]
        return subprocess.run(command, cwd="/", check=False, **self.process_options()).returncode == 0

    def own(self, path: Path) -> None:
        if not self.is_ours:
            os.chown(path, self.uid, self.gid)


def service_account() -> Account:
    """Oneself, or under root the system user NAME, which is made when it isn't there. Raises RuntimeFault."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    try:
        found = pwd.getpwnam(NAME)
    except KeyError:
        found = _make()
    return Account(found.pw_uid, found.pw_gid)


def _make() -> pwd.struct_passwd:
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", NAME]
    try:
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        reason = made.stderr.strip()
    except OSError as error:
        reason = str(error)
    try:
        return pwd.getpwnam(NAME)
    except KeyError:
        raise RuntimeFault(
            f"PostgreSQL can't run as root, and the user {NAME} couldn't be made ({reason}): "
            "run as another user, or set DATABASE_URL and REDIS_URL"
        ) from None
