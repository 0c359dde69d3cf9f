"""The commands `dask-observatory` and `dask observatory`: Django's management commands under their own name.

Importing this module needs neither Django nor Python 3.11, so that the command can report what is missing.
"""

from __future__ import annotations

import ast
import getpass
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from observatory import __version__

PACKAGE = Path(__file__).parent.parent
LIGHT = {
    "check": "Checks runs against earlier ones: says what got worse, for CI",
    "check-configuration": "Says everything that is wrong with a release's configuration file",
    "exec": "Replaces itself by a program that has the Dask configuration of a release",
    "mcp": "Serves an assistant what an Observatory recorded (Model Context Protocol)",
}
"""commands that need neither Django nor the server's Python"""
SERVING = {"alive", "collect", "demo", "doctor", "migrate", "restore", "runserver", "up", "watch_demo"}
"""commands that act for nobody: what they change is Observatory's own work"""
LEAST_PYTHON = (3, 11)


@click.command("observatory", add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def dask_command(arguments: tuple[str, ...]) -> None:
    """Record and replay what Dask clusters did."""
    main(arguments, "dask observatory")


def main(arguments: Sequence[str] | None = None, program: str = "dask-observatory") -> None:
    """Run a command; without `arguments`, those of this process."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["--version"], ["version"]):
        click.echo(f"dask-observatory {__version__}")
    elif not given or given in (["--help"], ["-h"], ["help"]):
        click.echo(overview(program))
    elif given[0] in LIGHT:
        run_light(program, given)
    elif given[0] == "help" and given[1:2] and given[1] in LIGHT:
        run_light(program, [given[1], "--help"])
    else:
        run(program, given)


def overview(program: str) -> str:
    """The help text: each command with its first sentence."""
    formatter = click.HelpFormatter(width=100)
    formatter.write_usage(program, "COMMAND [OPTIONS]")
    formatter.write_paragraph()
    formatter.write_text("Dask Observatory records what Dask clusters did and replays it.")
    with formatter.section("Commands"):
        formatter.write_dl(sorted({**commands(), **LIGHT}.items()))
    formatter.write_paragraph()
    formatter.write_text(
        f"`{program} help COMMAND` lists the options of a command, `{program} --version` prints the version. "
        "Django's own commands (migrate, createsuperuser, shell, …) work as well."
    )
    return formatter.getvalue().rstrip()


def commands() -> dict[str, str]:
    """The name and the first sentence of the help of each public command, read from its source."""
    found = {}
    for path in PACKAGE.glob("*/management/commands/[!_]*.py"):
        attributes = _attributes(path)
        if not attributes.get("is_internal"):
            found[path.stem] = attributes["help"].split(". ")[0].rstrip(".")
    return dict(sorted(found.items()))


def run(program: str, arguments: Sequence[str]) -> None:
    """Run a management command. Exits with one line when something that it needs is missing or wrong."""
    if sys.version_info < LEAST_PYTHON:
        required = ".".join(map(str, LEAST_PYTHON))
        sys.exit(f"Error: this command needs Python {required} or newer; this is {sys.version.split()[0]}")
    try:
        from observatory.base.management import execute
        from observatory.store.audit.actor import Actor, acts_from_now_on
    except ModuleNotFoundError as error:
        sys.exit(f"Error: {error.name} is not installed: pip install 'dask-observatory[server]'")
    if arguments[0] not in SERVING:
        name = f"{_operating_system_user()}: {arguments[0]}"
        acts_from_now_on(Actor("command", name, door="command line"))
    try:
        execute(program, arguments)
    except Exception as error:
        from observatory.store.connection import database_error, is_unavailable

        if database_error(error) is None or not is_unavailable(error):
            raise
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        sys.exit(
            f"Error: the database can't be used now: {reason}. Start Observatory (`dask-observatory up`), or "
            "set DATABASE_URL as for its services."
        )


def _operating_system_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in containers
        return str(os.getuid())


def run_light(program: str, arguments: Sequence[str]) -> None:
    """Run a command that isn't Django's."""
    command = _light(arguments[0])
    command.main(list(arguments[1:]), f"{program} {arguments[0]}")


def _light(name: str) -> click.Command:
    if name == "check":
        from observatory.client.check.command import check

        return check
    if name == "mcp":
        from observatory.assistants.stdio import serve

        return serve
    from observatory.agent.release.commands import check_configuration, execute

    return execute if name == "exec" else check_configuration


def _attributes(path: Path) -> dict[str, Any]:
    """The constants of the class `Command` of a module."""
    [command] = [
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name == "Command"
    ]
    return {
        target.id: statement.value.value
        for statement in command.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
