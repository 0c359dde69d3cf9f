"""The embedded Valkey: Celery's queue, live frames, heartbeats."""

from __future__ import annotations

import signal
from typing import Any

import redis

from observatory.runtime.embedded.data_folder import HERE, DataFolder
from observatory.runtime.embedded.orphans import stop_orphans
from observatory.runtime.embedded.programs import valkey_program

CONFIGURATION = """
port 0
unixsocket "{run}/valkey.sock"
unixsocketperm 700
dir .
daemonize no
hz 2
appendonly yes
appendfsync everysec
save ""
maxmemory 512mb
maxmemory-policy noeviction
"""


class Valkey:
    """Valkey with its data in `folder`/valkey, run by the services' account. Keeps Celery's queue."""

    def __init__(self, folder: DataFolder) -> None:
        self.folder = folder
        self.data = folder.path / "valkey"
        self.socket = folder.run / "valkey.sock"

    def prepare(self) -> None:
        """Write the configuration. Raises StartupError."""
        self.program = valkey_program(self.folder)
        self.folder.private(self.data)
        stop_orphans("valkey-server", self.data, signal.SIGTERM)
        path = self.data / "valkey.conf"
        path.write_text(CONFIGURATION.format(run=self.folder.run_seen_from(self.data)))
        self.folder.account.own(path)

    def command(self) -> list[str]:
        return [str(self.program), f"{HERE}/valkey.conf"]

    def options(self) -> dict[str, Any]:
        """For subprocess: as whom and where the command runs."""
        return {"cwd": self.data, **self.folder.account.process_options()}

    def is_ready(self) -> bool:
        try:
            return bool(redis.Redis(unix_socket_path=str(self.socket), socket_timeout=3).ping())
        except redis.RedisError:
            return False
