"""Checks of bundles, without a server: the command `check_bundles` has a database for as long as it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from observatory.client.check.answers import CheckError
from observatory.client.check.texts import Item
from observatory.client.without_server import CommandFailed, run_command

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
    try:
        found: list[Item] = json.loads(run_command(COMMAND, *options, *paths).splitlines()[-1])
    except CommandFailed as failure:
        raise CheckError(str(failure)) from None
    return found


def _path(path: str) -> str:
    """Never taken for an option."""
    return str(Path(path).resolve())
