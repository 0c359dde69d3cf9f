"""Makes a backup: the database at one instant, the secret key, and the files of exports and imports."""

from __future__ import annotations

import errno
import io
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from django.conf import settings

from observatory import __version__
from observatory.runtime.backup.archive import DATABASE, EXCHANGE, SECRET_KEY, BackupFile, Manifest, writing
from observatory.runtime.backup.own_database import readable_database
from observatory.runtime.backup.postgres_clients import dump, find_client
from observatory.runtime.errors import StartupError
from observatory.store.maintenance.whole_database import snapshot


def make_backup(path: Path, progress: Callable[[str], object]) -> int:
    """Write the backup `path`; returns its size in bytes. Raises StartupError."""
    key = known_secret_key()
    try:
        with readable_database(), writing(path) as file:
            _write(file, key, progress)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            free = shutil.disk_usage(path.parent).free >> 20
            raise StartupError(
                f"the disk of {path} is full ({free} MiB are free): nothing was kept"
            ) from None
        raise StartupError(f"{error.filename or path} failed: {error.strerror}") from None
    return path.stat().st_size


def known_secret_key() -> str:
    """The key of the environment or of the data folder. Raises StartupError without one."""
    if settings.SECRET_KEY_IS_NEW:
        raise StartupError(
            f"there is no secret key in {settings.DATA_DIR}: choose the data folder with --data-dir, "
            "or set OBSERVATORY_SECRET_KEY to that of the other processes"
        )
    return str(settings.SECRET_KEY)


def _write(file: IO[bytes], key: str, progress: Callable[[str], object]) -> None:
    backup = BackupFile(file, lambda name, size: progress(f"{name}: {size >> 20} MiB"))
    with snapshot() as instant:
        program, version = find_client("pg_dump", instant.server)
        progress(f"backing up a database of {instant.bytes >> 20} MiB with pg_dump {version}")
        backup.add(SECRET_KEY, io.BytesIO(key.encode()))
        dump(program, instant.name, lambda output: backup.add(DATABASE, output))
    folder = Path(settings.DATA_DIR) / EXCHANGE
    for path in sorted(folder.glob("*")):
        with suppress(FileNotFoundError), path.open("rb") as source:  # jobs remove their files
            backup.add(f"{EXCHANGE}/{path.name}", source)
    backup.finish(
        Manifest(
            observatory=__version__,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            server=instant.server,
            pg_dump=version,
            timescale=instant.timescale,
            database_bytes=instant.bytes,
            migrations=instant.migrations,
        )
    )
