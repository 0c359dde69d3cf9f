"""Management commands in processes of their own, which have the current settings."""

from __future__ import annotations

import os
import subprocess

from observatory.runtime.errors import StartupError
from observatory.runtime.supervision.forking import Fork
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
        raise _failed(arguments[0], done.stderr)
    return done.stdout.strip()


def forked_output(*arguments: str) -> str:
    """Run a management command in a fork, which has imported what this process has.

    Returns the last line that it prints. Raises StartupError with this line.
    """
    with os.fdopen(os.memfd_create(arguments[0]), "r+b") as printed:
        fork = Fork(arguments[0], command(*arguments), printed, {})
        fork.wait()
        printed.seek(0)
        text = printed.read().decode(errors="replace").strip()
    if fork.returncode or not text:
        raise _failed(arguments[0], text)
    return text.splitlines()[-1]


def _failed(command: str, text: str) -> StartupError:
    lines = text.strip().splitlines() or ["no reason given"]
    return StartupError(f"`{command}` failed: {lines[-1]}")
