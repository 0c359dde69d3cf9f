"""The embedded Valkey: Celery's queue, the live frames, the collectors' heartbeats."""

from __future__ import annotations

import os
from pathlib import Path

import redis

from observatory.runtime.embedded.folder import DataFolder
from observatory.runtime.embedded.software import valkey_program

CONFIGURATION = """
port 0
unixsocket "{run}/valkey.sock"
unixsocketperm 700
pidfile "{folder}/valkey.pid"
dir "{folder}"
daemonize no
appendonly yes
appendfsync everysec
save ""
maxmemory 512mb
maxmemory-policy noeviction
"""


class Valkey:
    """One Valkey in `folder`/valkey, as the services' account. It keeps Celery's queue over a restart."""

    def __init__(self, folder: DataFolder) -> None:
        self.folder = folder
        self.data = folder.path / "valkey"
        self.socket = folder.run / "valkey.sock"

    def prepare(self) -> None:
        """Writes the configuration. Raises RuntimeFault."""
        self.program = valkey_program(self.folder)
        self.folder.private(self.data)
        path = self.data / "valkey.conf"
        path.write_text(CONFIGURATION.format(run=self.folder.run, folder=self.data))
        self.folder.account.own(path)

    def command(self) -> list[str]:
        return [str(self.program), str(self.data / "valkey.conf")]

    def is_ready(self) -> bool:
        try:
            return bool(redis.Redis(unix_socket_path=str(self.socket), socket_timeout=3).ping())
        except redis.RedisError:
            return False

    def leftover(self) -> int | None:
        """The process id of a server that an earlier `up` left behind."""
        try:
            process = int((self.data / "valkey.pid").read_text())
            program = Path(os.readlink(f"/proc/{process}/exe"))
        except (OSError, ValueError):
            return None
        return process if program.name == "valkey-server" else None
