"""The commands `exec` and `check-configuration`, which need `distributed` only."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import click

from observatory.agent.release.configuration_file import SECTIONS, Release, read_release
from observatory.agent.release.release_facts import leaves, record_of
from observatory.agent.release.starting import arguments_of, environment_of, overridden_variables

NOT_FOUND = 127
FILE = click.Path(path_type=Path)


@click.group("exec")
def execute() -> None:
    """Replaces itself by a program that has the Dask configuration of a release.

    Put options before `--`, the program and its arguments after it. A scheduler gets the agent, too.
    """


def _subcommand(section: str, example: str) -> Callable[..., None]:
    @click.option("--configuration", type=FILE, help="the release's configuration file (docs/releases.md)")
    @click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
    def start(configuration: Path | None, command: Sequence[str]) -> None:
        release = None if configuration is None else _read(configuration)
        replace_process(release, section, command)

    start.__doc__ = f"Starts a program such as `{example}`."
    return start


for _section, _example in zip(SECTIONS, ("dask scheduler", "dask worker", "python script.py"), strict=True):
    execute.command(_section, context_settings={"allow_interspersed_args": False})(
        _subcommand(_section, _example)
    )


@click.command("check-configuration")
@click.argument("file", type=FILE)
def check_configuration(file: Path) -> None:
    """Says everything that is wrong with a release's configuration file."""
    release = _read(file)
    digest = json.loads(record_of(release, SECTIONS[0], os.environ))["digest"]
    counts = [f"{section} {sum(1 for _ in leaves(release.sections[section]))}" for section in SECTIONS]
    counts.append(f"environment {len(release.environment)}")
    click.echo(f"{file}: release {release.name}, digest {digest}; keys: {', '.join(counts)}")


def replace_process(release: Release | None, section: str, command: Sequence[str]) -> NoReturn:
    """Replaces this process, so that signals reach the program: it may be a container's first process."""
    if release is not None:
        for name in overridden_variables(release.sections[section], os.environ):
            click.echo(f"{name} of the environment: the configuration file wins", err=True)
    environment = environment_of(release, section, os.environ)
    program = _program(command[0], environment.get("PATH"))
    if program is None:
        click.echo(f"Error: {command[0]}: not found", err=True)
        sys.exit(NOT_FOUND)
    try:
        os.execvpe(program, arguments_of(command, section), environment)
    except OSError as error:
        sys.exit(f"Error: {program}: {error.strerror}")


def _program(name: str, path: str | None) -> str | None:
    """The program's file: by the search path, else beside this Python."""
    return shutil.which(name, path=path) or shutil.which(name, path=str(Path(sys.executable).parent))


def _read(file: Path) -> Release:
    """Prints what is wrong with a file, and exits when there are errors."""
    checked = read_release(file)
    for text in checked.warnings:
        click.echo(f"{file}: warning: {text}", err=True)
    for text in checked.errors:
        click.echo(f"{file}: error: {text}", err=True)
    if checked.release is None:
        sys.exit(1)
    return checked.release
