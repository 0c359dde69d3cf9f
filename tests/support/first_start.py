"""What the first start of an Observatory makes, made once a session: about 35 s of processor time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.embedded.postgres import Postgres
from tests.browser.observatory import ROOT, SERVICES
from tests.support import services
from tests.support.shared_recordings import made_once


def static_root() -> str:
    """The folder of the collected static files, for OBSERVATORY_STATIC_ROOT."""
    return made_once("static", _collect_static)


def copy_migrated(data_dir: Path) -> None:
    """Makes `data_dir` a data folder with a migrated database and nothing in it, owned as `up` makes it."""
    source = made_once("migrated", _migrate)
    subprocess.run(["cp", "--archive", "--reflink=auto", source, str(data_dir)], check=True)


def _collect_static() -> str:
    services.SHARED.chmod(0o711)  # under root, what `up` starts runs as another account
    folder = services.SHARED / "static"
    _manage("collectstatic", "--noinput", "--verbosity", "0", OBSERVATORY_STATIC_ROOT=str(folder))
    return str(folder)


def _migrate() -> str:
    folder = DataFolder(services.SHARED / "migrated", service_account())
    folder.prepare()
    postgres = services.launch(Postgres(folder), *services.options(services.NOT_DURABLE))
    try:
        _manage("migrate", "--verbosity", "0", OBSERVATORY_DATA_DIR=str(folder.path))
    finally:
        services.end(postgres)
    return str(folder.path)


def _manage(*arguments: str, **variables: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in SERVICES}
    command = [sys.executable, "manage.py", *arguments]
    subprocess.run(command, cwd=ROOT, env=environment | variables, check=True)
