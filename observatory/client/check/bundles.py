"""Checks of bundles, without a server: the command `check_bundles` has a database for as long as it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from observatory.client.check.answers import CheckError
from observatory.client.check.texts import Item

SUFFIX = ".observatory.zip"
COMMAND = "check_bundles"


def is_bundle(run: str) -> bool:
    return run.endswith(SUFFIX) or (run.endswith(".zip") and Path(run).is_file())


def checks(runs: Sequence[str], against: Sequence[str], limits: Mapping[str, str]) -> list[Item]:
    """The checks of the bundles `runs` against the bundles `against`. Raises CheckError."""
    if not against:
        raise CheckError("name the bundles to compare with: --against usual.observatory.zip")
    for path in (*runs, *against):
        if not is_bundle(path):
            raise CheckError(f"{path} is no bundle ({SUFFIX}): bundles are checked against bundles")
    for path in (*runs, *against):
        if not Path(path).is_file():
            raise CheckError(f"{path} doesn't exist")
    options = [f"--{name}={value}" for name, value in limits.items()]
    paths = [*map(_path, runs), *(f"--against={_path(path)}" for path in against)]
    with tempfile.TemporaryDirectory(prefix="observatory-") as folder:
        command = [sys.executable, "-m", "observatory", COMMAND, f"--data-dir={folder}", *options, *paths]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise CheckError(reason.removeprefix("Error: ").removeprefix("CommandError: "))
    found: list[Item] = json.loads(done.stdout.splitlines()[-1])
    return found


def _environment() -> dict[str, str]:
    """That of this process, without the settings of a server: it must not be asked or changed."""
    of_servers = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in of_servers and not name.startswith("OBSERVATORY_")
    }


def _path(path: str) -> str:
    """Never taken for an option."""
    return str(Path(path).resolve())
