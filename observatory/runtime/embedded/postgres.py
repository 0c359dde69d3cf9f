"""The embedded PostgreSQL."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from typing import Any

import psycopg
from psycopg import sql

from observatory.runtime.embedded.data_folder import HERE, DataFolder
from observatory.runtime.embedded.orphans import stop_orphans
from observatory.runtime.embedded.programs import postgres_programs
from observatory.runtime.errors import StartupError
from observatory.runtime.supervision.subprocesses import die_with_parent

USER = DATABASE = "observatory"
GIBIBYTE = 1 << 30

# for a steady stream of COPYs, few connections, and reads of recent partitions
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
    """PostgreSQL with its data in `folder`/postgres, run by the services' account."""

    def __init__(self, folder: DataFolder) -> None:
        self.folder = folder
        self.data = folder.path / "postgres"

    def prepare(self) -> None:
        """Initialize the database on the first start and write the configuration. Raises StartupError."""
        self.programs = postgres_programs(self.folder)
        if not self.data.exists():
            self._initialize()
        self._check_version()
        stop_orphans("postgres", self.data, signal.SIGQUIT)
        # their process is gone, but PostgreSQL does not start if another one, or a zombie, has its id
        for lock in (self.data / "postmaster.pid", self.folder.run / ".s.PGSQL.5432.lock"):
            lock.unlink(missing_ok=True)
        path = self.data / "observatory.conf"
        path.write_text(self._configuration())
        self.folder.account.own(path)

    def command(self) -> list[str]:
        return [str(self.programs / "postgres"), "-D", HERE, "-c", f"config_file={HERE}/observatory.conf"]

    def options(self) -> dict[str, Any]:
        """Arguments of subprocess: account and working directory."""
        return {"cwd": self.data, **self.folder.account.process_options()}

    def is_ready(self) -> bool:
        """Whether it answers. Creates the database if it is missing."""
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

    def _connect(self, database: str) -> psycopg.Connection:
        return psycopg.connect(
            host=str(self.folder.run), user=USER, dbname=database, autocommit=True, connect_timeout=3
        )

    def _initialize(self) -> None:
        unfinished = self.data.with_name("postgres.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        self.folder.private(unfinished)
        command = [
            str(self.programs / "initdb"),
            *("--pgdata", HERE, "--username", USER, "--encoding", "UTF8"),
            # only through the sockets' folder, which is private
            *("--locale", "C.UTF-8", "--auth", "trust"),
        ]
        done = subprocess.run(
            command,
            cwd=unfinished,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=die_with_parent(),
            **self.folder.account.process_options(),
        )
        if done.returncode:
            raise StartupError(
                f"PostgreSQL could not be initialized in {self.data}: {_last_line(done.stderr)}"
            )
        unfinished.rename(self.data)

    def _check_version(self) -> None:
        shown = subprocess.run(
            [self.programs / "postgres", "--version"], capture_output=True, text=True, check=True
        )
        ours = shown.stdout.split()[-1].split(".")[0]
        theirs = (self.data / "PG_VERSION").read_text().strip()
        if ours != theirs:
            raise StartupError(
                f"{self.data} was created by PostgreSQL {theirs}, and this is {ours}: "
                "make a backup with the old version and restore it, or choose another --data-dir"
            )

    def _configuration(self) -> str:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        buffers = min(memory // 8, GIBIBYTE) >> 20
        return CONFIGURATION.format(
            run=self.folder.run_seen_from(self.data), shared_buffers=buffers, cache=(memory // 2) >> 20
        )


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return next(
        (line for line in lines if "error" in line.lower()), lines[-1] if lines else "no reason given"
    )
