"""CSV export: a zip with a file for each kind of records."""

from __future__ import annotations

import zipfile
from typing import IO

from observatory.base.csv_lines import csv_lines
from observatory.exchange.formats.base import Progress
from observatory.exchange.records.exported_records import Reader, Shown, write_zip
from observatory.replay.scope import Scope


class Csv:
    name = "csv"
    label = "CSV, a file for each kind of records (zip)"
    suffix = ".zip"
    content_type = "application/zip"

    def write(self, scope: Scope, title: str, file: IO[bytes], progress: Progress) -> None:
        write_zip(file, zipfile.ZIP_DEFLATED, ".csv", scope, progress, _write)


def _write(source: Reader, kind: Shown, file: IO[bytes], progress: Progress) -> None:
    file.write(csv_lines([kind.columns]).encode())
    for rows in source.rows(kind, progress):
        file.write(csv_lines(row[1:] for row in rows).encode())
