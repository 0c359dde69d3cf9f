"""The command `check`."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click

from observatory.client.check import bundles
from observatory.client.check.answers import CheckError, Question, answer
from observatory.client.check.markdown import document
from observatory.client.check.table import table
from observatory.client.check.texts import Item
from observatory.client.connection import Connection, ObservatoryError
from observatory.wire.client_code.ci import JOB, ci_tags

FINE, WORSE, FAILED, UNCLEAR = 0, 1, 2, 3
"""exit codes; FAILED: the check couldn't be made"""
MOST_RUNS = 1000
FILE = click.Path(path_type=Path, dir_okay=False)


def _share(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """`10%`, `0.1` or `off`, as the API reads it. Raises BadParameter."""
    text = value.strip()
    if text == "off":
        return text
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 100:
        raise click.BadParameter(f"“{text[:40]}” is no share: write 10%, 0.1 or off")
    return repr(share)


def _count(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """`0`, `12` or `off`. Raises BadParameter."""
    text = value.strip()
    if text != "off" and not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise click.BadParameter(f"“{text[:40]}” is no number of tasks: write 0, 12 or off")
    return text


@click.command("check")
@click.argument("runs", metavar="RUN …", nargs=-1, required=True)
@click.option(
    "--against",
    multiple=True,
    metavar="RUNS",
    help="“last:10”, “last:10 of main”, “last:10 of TAG=VALUE”, “run:41,42”, or a bundle, or several.",
)
@click.option(
    "--slower", callback=_share, default="10%", show_default=True, help="longer than usual, at most"
)
@click.option("--memory", callback=_share, default="10%", show_default=True, help="more memory, at most")
@click.option("--errors", callback=_count, default="0", show_default=True, help="failed tasks, at most")
@click.option("--url", envvar="OBSERVATORY_URL", help="of the server; else OBSERVATORY_URL")
@click.option("--project", default="", help="short name of the project of runs that are given by name")
@click.option("--tag", default="", help="NAME=VALUE of runs that are given by name; in CI that of the job")
@click.option("--wait", type=click.IntRange(0, 86_400), default=300, show_default=True, help="seconds")
@click.option("--junit", type=FILE, help="writes JUnit XML")
@click.option("--markdown", type=FILE, help="writes Markdown, for a comment")
def check(
    runs: Sequence[str],
    against: Sequence[str],
    slower: str,
    memory: str,
    errors: str,
    url: str | None,
    project: str,
    tag: str,
    wait: int,
    junit: Path | None,
    markdown: Path | None,
) -> None:
    """Checks runs against earlier ones: says what got worse, for CI.

    RUN is a number, an address or a name, @FILE a file with one on each line, or a bundle. The access token
    is read from OBSERVATORY_ACCESS_TOKEN. Exits with 0 if nothing is worse, 1 if something is, 2 if the check
    can't be made, 3 if it can't be told: too few runs, or runs that vary too much.
    """
    limits = {"slower": slower, "memory": memory, "errors": errors}
    _check_files(junit, markdown)
    try:
        given = _listed(runs)
        if any(bundles.is_bundle(run) for run in given):
            url, found = "", bundles.checks(given, against, limits)
        else:
            connection = _connection(url)
            url = connection.url
            question = Question(_one(against), limits, wait, project, tag or _job_tag(), _report)
            found = [answer(connection, run, question) for run in given]
    except (CheckError, ObservatoryError) as error:
        _fail(str(error))
    for each in found:
        address = f"{url}/runs/{each['run']['id']}/" if url else ""
        click.echo(table(each, address))
    _write(found, url or "", junit, markdown)
    sys.exit(exit_code(found))


def exit_code(checks: Sequence[Item]) -> int:
    verdicts = {each["verdict"] for each in checks}
    return WORSE if "worse" in verdicts else UNCLEAR if "unclear" in verdicts else FINE


def _listed(runs: Sequence[str]) -> list[str]:
    """The runs that are named, and those in files. Raises CheckError."""
    found: list[str] = []
    for run in runs:
        if not run.startswith("@"):
            found.append(run)
            continue
        try:
            lines = Path(run[1:]).read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise CheckError(f"{run[1:]} can't be read: {error}") from None
        found += [line.strip() for line in lines if line.strip()]
    if not found:
        raise CheckError("no run is named: the file is empty")
    if len(found) > MOST_RUNS:
        raise CheckError(f"{len(found):,} runs are named: at most {MOST_RUNS:,} are checked")
    return list(dict.fromkeys(found))


def _one(against: Sequence[str]) -> str:
    if len(against) > 1:
        raise CheckError("--against is given several times: that is for bundles")
    return against[0] if against else "last:10"


def _job_tag() -> str:
    job = ci_tags(os.environ).get(JOB)
    return f"{JOB}={job}" if job else ""


def _connection(url: str | None) -> Connection:
    """Raises CheckError."""
    token = os.environ.get("OBSERVATORY_ACCESS_TOKEN", "").strip()
    if not url:
        raise CheckError("the server isn't known: set OBSERVATORY_URL or --url, or check bundles")
    if not token:
        raise CheckError("there is no access token: set OBSERVATORY_ACCESS_TOKEN (docs/client.md)")
    try:
        return Connection(url, token)
    except ValueError as error:
        raise CheckError(str(error)) from None


def _check_files(junit: Path | None, markdown: Path | None) -> None:
    """What can't be written is said before anything is waited for."""
    for path in (junit, markdown):
        if path is not None and not path.parent.is_dir():
            _fail(f"{path}: the folder doesn't exist")
    if junit is not None and find_spec("junitparser") is None:
        _fail("--junit needs junitparser: pip install 'dask-observatory[ci]'")


def _write(checks: Sequence[Item], url: str, junit: Path | None, markdown: Path | None) -> None:
    try:
        if junit is not None:
            from observatory.client.check.junit import write_junit

            write_junit(checks, junit)
        if markdown is not None:
            markdown.write_text(document(checks, url), encoding="utf-8")
    except OSError as error:
        _fail(str(error))


def _report(progress: str) -> None:
    click.echo(progress, err=True)


def _fail(reason: str) -> None:
    click.echo(f"Error: {reason}", err=True)
    sys.exit(FAILED)
