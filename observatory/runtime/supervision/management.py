"""Management commands in processes of their own, which read the settings as they are at that time."""

from __future__ import annotations

import subprocess

from observatory.runtime.errors import RuntimeFault
from observatory.runtime.supervision.children import dying_with_us, python, python_environment


def command(*arguments: str) -> list[str]:
    """The command line of a management command."""
    return python("observatory", *arguments)


def output(*arguments: str) -> str:
    """Run a management command; returns what it prints, stripped. Raises RuntimeFault with its last line."""
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        env=python_environment(),
        start_new_session=True,
        preexec_fn=dying_with_us(),
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise RuntimeFault(f"`{arguments[0]}` failed: {lines[-1]}")
    return done.stdout.strip()
