"""The commands `dask-observatory`, `dask observatory` and `manage.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands

from observatory import __version__
from observatory.runtime.command_line import LIGHT, commands, main
from tests.runtime.machine import manage


def test_the_help_lists_our_public_commands_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    ours = {name for name, app in get_commands().items() if str(app).startswith("observatory.")}
    assert set(commands()) == ours - {"demo_token", "watch_demo", "check_bundles", "make_bundle"}
    main([], "dask observatory")
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: dask observatory COMMAND [OPTIONS]\n")
    assert "\n  doctor               Checks each component and says how to fix what fails\n" in shown
    assert "\n  exec                 Replaces itself by a program that has the Dask configuration" in shown
    assert "axes_reset" not in shown


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"]])
def test_the_help_is_shown_in_the_usual_ways(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(arguments)
    assert capsys.readouterr().out.startswith("Usage: dask-observatory COMMAND")


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert capsys.readouterr().out == f"dask-observatory {__version__}\n"


def test_the_help_of_a_command_lists_its_options() -> None:
    done = manage("help", "demo")
    assert "Runs everything as `up` does, with a demo cluster to look at." in done.stdout
    assert "--data-dir" in done.stdout


@pytest.mark.parametrize("name", LIGHT)
def test_a_command_that_needs_no_server_is_explained_in_the_same_words(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["help", name])
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: dask-observatory {name} ")
    assert f"{LIGHT[name]}." in shown


def test_a_command_of_django_works_as_well() -> None:
    assert "axes_reset" in manage("axes_reset", "--help").stdout


@pytest.mark.parametrize("command", [["migrate"], ["archive", "list"], ["createsuperuser", "--noinput"]])
def test_a_command_without_a_database_says_how_to_get_one(command: list[str], tmp_path: Path) -> None:
    url, archive = "postgresql://nobody@127.0.0.1:1/x", str(tmp_path / "archive")
    done = manage(*command, DATABASE_URL=url, OBSERVATORY_ARCHIVE=archive)
    assert done.returncode == 1
    assert "Error: the database can't be used now: " in done.stderr
    assert "Start Observatory (`dask-observatory up`), or set DATABASE_URL" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_garbage_collector_runs_after_preloading() -> None:
    code = """
import gc
from observatory.runtime.supervision.preloading import preload
preload()
print(gc.isenabled())
"""
    assert manage("shell", "--verbosity", "0", "--command", code).stdout == "True\n"


def test_what_is_preloaded_can_be_forked_and_has_the_caches_that_each_program_would_fill() -> None:
    code = """
import threading
from django.db import connection
from django.urls import get_resolver
from observatory.config.celery import app
from observatory.runtime.supervision.preloading import preload
preload()
print(threading.active_count(), connection.connection)
print(get_resolver()._populated, "queues" in vars(app.amqp), app.loader.worker_initialized)
"""
    shown = manage("shell", "--verbosity", "0", "--command", code).stdout
    assert shown.splitlines() == ["1 None", "True True True"]


def test_importing_it_imports_neither_django_nor_distributed() -> None:
    code = "import sys, observatory.runtime.command_line\nprint({'django', 'distributed'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
