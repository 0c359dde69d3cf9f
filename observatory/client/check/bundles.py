"""Checks of bundles, without a server: the command `check_bundles` has a database for as long as it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from observatory.client.check.answers import CheckError
from observatory.client.check.texts import Item
from observatory.client.without_server import CommandFailed, run_command
from observatory.wire.client_code.runs import BUNDLE_SUFFIX

COMMAND = "check_bundles"
MOST_BUNDLES = 1_000


def is_bundle(run: str) -> bool:
    """Or a folder of bundles, whose name ends with a slash: a run may be called like one."""
    is_folder = run.endswith("/") and "://" not in run
    return is_folder or run.endswith(BUNDLE_SUFFIX) or (run.endswith(".zip") and Path(run).is_file())


def checks(runs: Sequence[str], against: Sequence[str], limits: Mapping[str, str]) -> list[Item]:
    """The checks of the bundles `runs` against the bundles `against`. Raises CheckError."""
    if not against:
        raise CheckError("name the bundles to compare with: --against usual.observatory.zip")
    for path in (*runs, *against):
        if not is_bundle(path):
            raise CheckError(f"{path} is no bundle ({BUNDLE_SUFFIX}): bundles are checked against bundles")
    checked, earlier = _files(runs), _files(against)
    options = [f"--{name}={value}" for name, value in limits.items()]
    paths = [*checked, *(f"--against={path}" for path in earlier)]
    try:
        found: list[Item] = json.loads(run_command(COMMAND, *options, *paths).splitlines()[-1])
    except CommandFailed as failure:
        raise CheckError(str(failure)) from None
    return found


def _files(paths: Sequence[str]) -> list[str]:
    """Absolute paths, which are never taken for options; folders have those of their bundles.

    Raises CheckError.
    """
    found: dict[str, None] = {}
    for path in paths:
        if path.endswith("/"):
            inside = sorted(Path(path).glob(f"*{BUNDLE_SUFFIX}"))
            if not inside:
                raise CheckError(f"{path} has no bundles (*{BUNDLE_SUFFIX})")
            found |= dict.fromkeys(str(each.resolve()) for each in inside)
        elif Path(path).is_file():
            found[str(Path(path).resolve())] = None
        else:
            raise CheckError(f"{path} doesn't exist")
    if len(found) > MOST_BUNDLES:
        raise CheckError(f"{len(found):,} bundles are named: at most {MOST_BUNDLES:,} are checked at once")
    return list(found)
