"""Management commands in processes of their own, which read the current settings."""

from __future__ import annotations

import subprocess

from observatory.runtime.errors import StartupError
from observatory.runtime.supervision.subprocesses import die_with_parent, python, python_environment


def command(*arguments: str) -> list[str]:
    """The command line of a management command."""
    return python("observatory", *arguments)


def output(*arguments: str) -> str:
    """Run a management command; returns what it prints, stripped. Raises StartupError with its last line."""
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        env=python_environment(),
        start_new_session=True,
        preexec_fn=die_with_parent(),
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise StartupError(f"`{arguments[0]}` failed: {lines[-1]}")
    return done.stdout.strip()
