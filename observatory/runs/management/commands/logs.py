"""`dask-observatory logs`: the lines of the tab of logs on the terminal, found by the same functions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError, CommandParser

from observatory.clusters.models import Cluster
from observatory.replay.logs.search import Wanted, from_time, matching_lines
from observatory.replay.scope import Scope
from observatory.runs.management.terminal import SCOPE_HELP, TIME_HELP, clean, find_scope, parse_time
from observatory.store.connection import connect_reader
from observatory.store.patterns import PatternError, pattern
from observatory.store.queries.logs import LogCursor, LogLine
from observatory.store.times import EPOCH, to_microseconds
from observatory.wire.records import ROLES

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
NAMES = {level: name for name, level in LEVELS.items()}
WAIT = 1.0
"""seconds between two looks for new lines"""
LATE = timedelta(seconds=15)
"""how much later than others a line may arrive and is still printed"""


class Command(BaseCommand):
    help = "Prints the log lines of a cluster or a run. They are those of the tab Logs."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("of", metavar="CLUSTER|RUN", help=SCOPE_HELP)
        parser.add_argument("--level", choices=LEVELS, default="debug", help="the lowest level")
        parser.add_argument("--process", choices=ROLES, default="", help="lines of these processes only")
        parser.add_argument("--logger", default="", help="lines of this logger and those below it")
        parser.add_argument("--worker", default="", help="a part of the worker's name or address")
        parser.add_argument(
            "--match", default="", help="regular expression (RE2) in the message or traceback"
        )
        parser.add_argument("--since", type=parse_time, help=TIME_HELP)
        parser.add_argument("--until", type=parse_time, help="likewise")
        parser.add_argument("--follow", action="store_true", help="print new lines as they come")

    def handle(self, *args: Any, **options: Any) -> None:
        scope = find_scope(options["of"])
        wanted = wanted_lines(options)
        with connect_reader() as connection:
            try:
                for line in found_lines(connection, scope, wanted, options["follow"]):
                    self.stdout.write(text_of(line))
            except (KeyboardInterrupt, BrokenPipeError):
                pass


def wanted_lines(options: dict[str, Any]) -> Wanted:
    """Raises CommandError for an invalid regular expression."""
    try:
        pattern(options["match"], ignores_case=True)
    except PatternError as error:
        raise CommandError(str(error)) from None
    wanted = Wanted(
        level=LEVELS[options["level"]],
        role=options["process"],
        worker=options["worker"],
        logger=options["logger"],
        match=options["match"],
        is_regex=bool(options["match"]),
    )
    if options["since"]:
        wanted = replace(wanted, start=to_microseconds(options["since"]))
    if options["until"]:
        wanted = replace(wanted, stop=to_microseconds(options["until"]))
    return wanted


def found_lines(
    connection: psycopg.Connection, scope: Scope, wanted: Wanted, follows: bool
) -> Iterator[LogLine]:
    """Yield the lines in order of time; with `follows`, then new ones until the cluster ends."""
    seen: set[LogCursor] = set()
    newest = EPOCH + timedelta(microseconds=max(wanted.start, scope.start))
    while True:
        has_ended = follows and not Cluster.objects.filter(pk=scope.cluster.pk, ended=None).exists()
        begin = from_time(newest - LATE if seen else newest)
        for lines, _ in matching_lines(connection, scope, wanted, begin, goes_back=False):
            for line in lines:
                if (line.time, line.hash) not in seen:
                    yield line
                    seen.add((line.time, line.hash))
                    newest = max(newest, line.time)
            seen = {cursor for cursor in seen if cursor[0] >= newest - LATE}
        if not follows or has_ended:
            return
        time.sleep(WAIT)


def text_of(line: LogLine) -> str:
    """Return a line as text: time (UTC), level, process, logger and message; a traceback is indented."""
    level = NAMES.get(line.level, str(line.level))
    clock = line.time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    process = f"{line.role} {line.worker}".strip()
    first = f"{clock} {level:<8} {process} {line.logger}: {line.message}"
    traceback = "".join(f"\n    {part}" for part in line.traceback.splitlines())
    return clean(first + traceback)
