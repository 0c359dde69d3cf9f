"""Restores a backup: into an empty Observatory, or in place of what is there."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.conf import settings

from observatory import __version__
from observatory.runtime.backup import postgres_clients
from observatory.runtime.backup.archive import DATABASE, EXCHANGE, PRIVATE_FILE, SECRET_KEY, Backup
from observatory.runtime.backup.own_database import is_embedded, own_data_folder, writable_database
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.errors import StartupError
from observatory.runtime.schema_versions import ADVICE, unknown_migrations
from observatory.runtime.supervision import management
from observatory.store.connection import session_parameters
from observatory.store.maintenance import whole_database
from observatory.store.outages.free_space import RESERVE

EXCHANGE_FILE = re.compile(rf"{EXCHANGE}/(\d+)")
RESTORED, REPLACED = "_restored", "_replaced"
"""ends of the names of databases while they are exchanged"""


def restore_backup(path: Path, replace: bool, progress: Callable[[str], object]) -> None:
    """Restore the backup `path`, then migrate. `replace`: what is there is lost. Raises StartupError."""
    with Backup(path) as backup:
        _check_versions(backup)
        _check_key(backup)
        backup.check(progress)
        with own_data_folder() as folder:
            _check_space(backup, folder)
            with writable_database(folder):
                _restore(backup, folder, replace, progress)


def _restore(backup: Backup, folder: DataFolder, replace: bool, progress: Callable[[str], object]) -> None:
    exchange = folder.path / EXCHANGE
    with _connect() as connection:
        is_used = whole_database.has_tables(connection) or (exchange.exists() and any(exchange.iterdir()))
        if is_used and not replace:
            raise StartupError(
                "there is an Observatory already: choose an empty data folder with --data-dir or an empty "
                "database with DATABASE_URL, or add --replace, which deletes what is there"
            )
        if others := whole_database.other_sessions(connection):
            raise StartupError(
                f"{others} other connections are open to the database: stop web, collector, worker, alerts "
                "and beat first"
            )
        _check_server(backup, connection)
        has_tables = whole_database.has_tables(connection)
    if has_tables:
        with _in_its_place(backup, progress):
            _finish(backup, folder, progress)
    else:
        _fill(backup, _name(), progress)
        _finish(backup, folder, progress)


def _finish(backup: Backup, folder: DataFolder, progress: Callable[[str], object]) -> None:
    """Migrate, then restore the files: a failed migration leaves them as they were."""
    progress("migrating …")
    management.output("migrate", "--skip-checks", "--verbosity", "0")
    _restore_files(backup, folder)
    if is_embedded():
        shutil.rmtree(folder.path / "valkey", ignore_errors=True)  # it is of the other database


def _check_versions(backup: Backup) -> None:
    migrations = backup.manifest.migrations
    if unknown := unknown_migrations((app, name) for app, names in migrations.items() for name in names):
        raise StartupError(
            f"the backup, made by version {backup.manifest.observatory}, is newer than this version "
            f"({__version__}), or of before 0.1.0 (unknown: {', '.join(unknown[:3])}). {ADVICE}"
        )


def _check_key(backup: Backup) -> None:
    """A key of the environment has precedence over the data folder's: it has to be the backup's."""
    given = os.environ.get("OBSERVATORY_SECRET_KEY")
    if given and given != backup.read(SECRET_KEY).decode():
        raise StartupError(
            "OBSERVATORY_SECRET_KEY is not the backup's: with it, sessions would end and the addresses of "
            f"channels could not be decrypted. `tar --extract --to-stdout --file {backup.path} {SECRET_KEY}` "
            "prints the backup's"
        )


def _check_space(backup: Backup, folder: DataFolder) -> None:
    files = sum(int(file["bytes"]) for name, file in backup.manifest.files.items() if name != DATABASE)
    needed = files + (backup.manifest.database_bytes + RESERVE if is_embedded() else 0)
    free = shutil.disk_usage(folder.path).free
    if free < needed:
        raise folder.disk_full(f"{free >> 20} MiB are free, {needed >> 20} MiB are needed")


def _check_server(backup: Backup, connection: psycopg.Connection) -> None:
    """The server can hold what the backup's held. Raises StartupError."""
    manifest, server = backup.manifest, whole_database.server_major(connection)
    if server < manifest.server:
        raise StartupError(
            f"the backup is of PostgreSQL {manifest.server}, and the server is older ({server}): "
            f"use PostgreSQL {manifest.server} or newer"
        )
    if manifest.timescale and not whole_database.offers_timescale(connection, manifest.timescale):
        raise StartupError(
            f"the backup needs TimescaleDB {manifest.timescale}, which the server does not offer: "
            "restore to a server that does, then update the extension"
        )


def _fill(backup: Backup, database: str, progress: Callable[[str], object]) -> None:
    """Restore into the empty `database`."""
    timescale = backup.manifest.timescale
    with _connect(database) as connection:
        whole_database.prepare_for_restore(connection, timescale)
    program, version = postgres_clients.find_client("pg_restore", backup.manifest.pg_dump)
    total, done = int(backup.manifest.files[DATABASE]["bytes"]), 0
    progress(f"restoring a dump of {total >> 20} MiB with pg_restore {version}")

    def count(size: int) -> None:
        nonlocal done
        before, done = done, done + size
        if done * 10 // total > before * 10 // total:
            progress(f"database: {done * 100 // total} %")

    with backup.open(DATABASE) as dumped:
        postgres_clients.restore(program, database, dumped, count)
    with _connect(database) as connection:
        whole_database.finish_restore(connection, timescale)


@contextmanager
def _in_its_place(backup: Backup, progress: Callable[[str], object]) -> Iterator[None]:
    """Restore beside the database, then exchange them. After an error in the block they change back."""
    name = _name()
    restored, replaced = name + RESTORED, name + REPLACED
    with _connect("postgres") as server:
        if not whole_database.may_create_databases(server):
            raise StartupError(
                "--replace restores into a new database, and the role of DATABASE_URL may not create one: "
                "ALTER ROLE … CREATEDB, or empty the database and leave --replace out"
            )
        whole_database.create_empty(server, restored)
        try:
            _fill(backup, restored, progress)
        except BaseException:
            whole_database.drop(server, restored)
            raise
        whole_database.drop(server, replaced)
        whole_database.rename(server, name, replaced)
        whole_database.rename(server, restored, name)
        try:
            yield
        except BaseException:
            whole_database.drop(server, name)
            whole_database.rename(server, replaced, name)
            raise
        whole_database.drop(server, replaced)


def _restore_files(backup: Backup, folder: DataFolder) -> None:
    """The secret key, and the files of exports and imports in place of those that are there."""
    exchange = folder.path / EXCHANGE
    if exchange.exists():
        for path in exchange.iterdir():
            path.unlink()
    for name in backup.files:
        if EXCHANGE_FILE.fullmatch(name):
            folder.private(exchange)
            _extract(backup, name, folder.path / name, folder)
    if not os.environ.get("OBSERVATORY_SECRET_KEY"):
        _extract(backup, SECRET_KEY, folder.path / SECRET_KEY, folder)


def _extract(backup: Backup, name: str, path: Path, folder: DataFolder) -> None:
    """Write a file completely or not at all."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file, backup.open(name) as source:
        shutil.copyfileobj(source, file)
    folder.account.own(unfinished)
    unfinished.rename(path)


def _name() -> str:
    return str(settings.DATABASES["default"]["NAME"])


def _connect(database: str = "") -> psycopg.Connection:
    given = session_parameters()
    return psycopg.connect(**{**given, "dbname": database or given["dbname"]}, autocommit=True)
