"""`dask-observatory sql`: a query over all that is stored and archived."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from observatory.clusters.formatting import format_count
from observatory.clusters.models import Cluster
from observatory.runs.management.terminal import TIME_HELP, clean, parse_time
from observatory.store.archive.errors import ArchiveError

FORMATS = ("table", "csv", "json", "arrow", "parquet")
BINARY = ("arrow", "parquet")


class Command(BaseCommand):
    help = (
        "Runs a query (DuckDB's SQL) over records, runs, findings and alerts; --tables lists what there is."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("query", nargs="?", help="the query; - reads it from the standard input")
        parser.add_argument("--tables", action="store_true", help="list the tables with their columns")
        parser.add_argument("--project", default="", help="short name of the project; without it all")
        parser.add_argument(
            "--cluster", type=int, action="append", default=[], help="a cluster's number; several times"
        )
        parser.add_argument("--after", type=parse_time, help=f"records from then on: {TIME_HELP}")
        parser.add_argument("--before", type=parse_time, help="records before then, likewise")
        parser.add_argument("--format", choices=FORMATS, default="table")
        parser.add_argument("--output", type=Path, help="write to this file")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["tables"]:
            self._list_tables()
            return
        query = sys.stdin.read() if options["query"] == "-" else options["query"]
        if not query:
            raise CommandError("Say a query, or --tables.")
        if options["format"] in BINARY and not options["output"]:
            raise CommandError(f"{options['format']} needs --output FILE.")
        self._run(query, options)

    def _list_tables(self) -> None:
        from observatory.store.sql.query import tables_by_name
        from observatory.store.sql.tables import OF_CLUSTER

        self.stdout.write("Each table has the columns project and cluster as well.")
        for name, table in tables_by_name().items():
            columns = ", ".join(table.schema.names[len(OF_CLUSTER) :])
            self.stdout.write(f"\n{name}: {table.meaning}\n    {columns}")

    def _run(self, query: str, options: dict[str, Any]) -> None:
        from observatory.exchange.sql.scopes import scope_of
        from observatory.store.sql.limits import OF_COMMAND
        from observatory.store.sql.query import QueryRefused, run_query
        from observatory.store.sql.sources import TooManyRows

        every = Cluster.objects.filter(project__is_own=False)
        try:
            scope = scope_of(
                every, options["cluster"], options["project"], options["after"], options["before"]
            )
            result = run_query(query, scope, OF_COMMAND)
        except (LookupError, QueryRefused, TooManyRows, ArchiveError) as error:
            raise CommandError(clean(str(error.args[0] if error.args else error))) from None
        self._write(result.rows, options["format"], options["output"])
        if result.has_more:
            self.stderr.write(
                f"These are the first {format_count(result.rows.num_rows)} rows; there are more."
            )

    def _write(self, rows: Any, format: str, output: Path | None) -> None:
        from observatory.exchange.sql.results import WRITERS

        file = io.BytesIO()
        WRITERS[format](rows, file)
        if output is None:
            self.stdout.write(clean(file.getvalue().decode()))
            return
        try:
            output.write_bytes(file.getvalue())
        except OSError as error:
            raise CommandError(f"{output} can't be written: {error.strerror}") from None
