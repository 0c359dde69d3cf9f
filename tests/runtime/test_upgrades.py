"""Data of earlier versions: restored and migrated, everything of it is there and works."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.browser.observatory import ROOT
from tests.runtime.machine import manage
from tests.runtime.test_backup import PASSWORD, VISIT, contents, restore, running, target

__all__ = ["target"]

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
SNAPSHOTS = sorted((ROOT / "tests" / "releases").glob("*.backup"))
OF_A_VERSION = ("django_", "auth_permission", "alerts_rule", "alerts_condition", "tile")
"""tables of what a version brings along, and of what is made again"""


def compared(rows: dict[str, Any]) -> dict[str, Any]:
    return {name: number for name, number in rows.items() if not name.startswith(OF_A_VERSION)}


def test_there_are_snapshots() -> None:
    assert SNAPSHOTS


@pytest.mark.parametrize("snapshot", SNAPSHOTS, ids=lambda path: path.stem)
def test_the_data_of_an_earlier_version_is_migrated_whole(snapshot: Path, target: Path) -> None:
    known = json.loads(snapshot.with_suffix(".json").read_text())
    done = restore(snapshot, target)
    assert done.returncode == 0, done.stderr
    with running(target) as connection:
        rows = {name: number for name, (number, _) in contents(connection).items()}
        assert compared(rows).items() >= compared(known["rows"]).items()
        variables = {"OBSERVATORY_DATA_DIR": str(target), "REDIS_URL": os.environ["REDIS_URL"]}
        visit = manage(
            *("shell", "--no-imports", "--command", VISIT.format(password=PASSWORD, token=known["token"])),
            OBSERVATORY_ALLOWED_HOSTS="testserver",
            **variables,
        )
        assert visit.returncode == 0, visit.stderr
        assert visit.stdout.splitlines() == [
            "302 /clusters/ 200",
            "200 404",
            "https://hooks.example.org/s3cr3t",
        ]
        pending = manage("migrate", "--check", **variables)
        assert pending.returncode == 0, pending.stdout
