"""The embedded PostgreSQL."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql

from observatory.runtime.embedded.folder import DataFolder
from observatory.runtime.embedded.software import postgres_programs
from observatory.runtime.errors import RuntimeFault

USER = DATABASE = "observatory"
GIBIBYTE = 1 << 30

# The load: a steady stream of COPYs, few connections, reads of recent partitions.
CONFIGURATION = """
listen_addresses = ''
unix_socket_directories = '{run}'
unix_socket_permissions = 0700
max_connections = 100
shared_buffers = {shared_buffers}MB
effective_cache_size = {cache}MB
work_mem = 32MB
maintenance_work_mem = 256MB
max_wal_size = 4GB
checkpoint_timeout = 15min
wal_compression = on
max_locks_per_transaction = 256
jit = off
timezone = UTC
log_timezone = UTC
"""


class Postgres:
    """One PostgreSQL in `folder`/postgres, as the services' account."""

    def __init__(self, folder: DataFolder) -> None:
        self.folder = folder
        self.data = folder.path / "postgres"

    def prepare(self) -> None:
        """Makes the database cluster on the first start; writes the configuration. Raises RuntimeFault."""
        self.programs = postgres_programs(self.folder)
        self.folder.private(self.data)
        if not (self.data / "PG_VERSION").exists():
            self._initialise()
        self._check_version()
        self._write("observatory.conf", self._configuration())

    def command(self) -> list[str]:
        configuration = self.data / "observatory.conf"
        return [str(self.programs / "postgres"), "-D", str(self.data), "-c", f"config_file={configuration}"]

    def is_ready(self) -> bool:
        """Answers, and has the database, which is made when it isn't there."""
        try:
            with self._connect("postgres") as connection:
                found = connection.execute(
                    "SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]
                ).fetchone()
                if found is None:
                    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
        except psycopg.OperationalError:
            return False
        return True

    def leftover(self) -> int | None:
        """The process id of a server that an earlier `up` left behind."""
        try:
            process = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
            program = Path(os.readlink(f"/proc/{process}/exe"))
        except (OSError, ValueError):
            return None
        return process if program.name == "postgres" else None

    def _connect(self, database: str) -> psycopg.Connection:
        return psycopg.connect(
            host=str(self.folder.run), user=USER, dbname=database, autocommit=True, connect_timeout=3
        )

    def _initialise(self) -> None:
        command = [
            str(self.programs / "initdb"),
            *("--pgdata", str(self.data), "--username", USER, "--encoding", "UTF8"),
            # only the sockets' folder, which is private, leads to it
            *("--locale", "C.UTF-8", "--auth", "trust"),
        ]
        done = subprocess.run(
            command,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            **self.folder.account.process_options(),
        )
        if done.returncode:
            raise RuntimeFault(f"PostgreSQL couldn't be set up in {self.data}: {_last_line(done.stderr)}")

    def _check_version(self) -> None:
        shown = subprocess.run(
            [self.programs / "postgres", "--version"], capture_output=True, text=True, check=True
        )
        ours = shown.stdout.split()[-1].split(".")[0]
        theirs = (self.data / "PG_VERSION").read_text().strip()
        if ours != theirs:
            raise RuntimeFault(
                f"{self.data} was made by PostgreSQL {theirs}, and this is {ours}: "
                "dump it with the old version and restore it, or choose another --data-dir"
            )

    def _configuration(self) -> str:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        buffers = min(memory // 8, 2 * GIBIBYTE) >> 20
        return CONFIGURATION.format(run=self.folder.run, shared_buffers=buffers, cache=(memory // 2) >> 20)

    def _write(self, name: str, text: str) -> None:
        path = self.data / name
        path.write_text(text)
        self.folder.account.own(path)


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return next(
        (line for line in lines if "error" in line.lower()), lines[-1] if lines else "no reason given"
    )
