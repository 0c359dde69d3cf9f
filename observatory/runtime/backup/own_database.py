"""The database of a backup: DATABASE_URL's, or the embedded one, which is started if `up` does not run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.conf import settings

from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.errors import StartupError
from observatory.runtime.supervision.logs import Logs
from observatory.runtime.supervision.services import check_database, embedded_postgres
from observatory.runtime.supervision.supervisor import Supervisor
from observatory.store.connection import connect


def is_embedded() -> bool:
    return not os.environ.get("DATABASE_URL")


@contextmanager
def readable_database() -> Iterator[None]:
    """The database answers inside the block, whether `up` runs or not. Raises StartupError."""
    if not is_embedded():
        check_database()
        yield
    elif not (Path(settings.DATA_DIR) / "postgres").exists():
        raise StartupError(f"there is no database in {settings.DATA_DIR}: choose the folder with --data-dir")
    elif _answers():
        yield
    else:
        with own_data_folder() as folder, _started(folder):
            yield


@contextmanager
def own_data_folder() -> Iterator[DataFolder]:
    """The data folder, locked: no `up` runs in it. Raises StartupError."""
    folder = DataFolder(Path(settings.DATA_DIR), service_account())
    folder.prepare()
    folder.lock()
    try:
        yield folder
    finally:
        folder.unlock()


@contextmanager
def writable_database(folder: DataFolder) -> Iterator[None]:
    """The database answers inside the block. `folder` is locked."""
    if is_embedded():
        with _started(folder):
            yield
    else:
        check_database()
        yield


@contextmanager
def _started(folder: DataFolder) -> Iterator[None]:
    supervisor = Supervisor(Logs(folder.logs, verbose=False))
    try:
        supervisor.start(embedded_postgres(folder))
        yield
    finally:
        supervisor.stop()


def _answers() -> bool:
    try:
        connect().close()
    except psycopg.Error:
        return False
    return True
