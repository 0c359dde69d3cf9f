"""Parquet export: a zip with a file for each kind of records."""

from __future__ import annotations

import zipfile
from functools import partial
from typing import IO

from observatory.exchange.formats.base import Progress
from observatory.exchange.records.exported_records import write_zip
from observatory.replay.scope import Scope


class Parquet:
    name = "parquet"
    label = "Parquet, a file for each kind of records (zip)"
    suffix = ".zip"
    content_type = "application/zip"

    def write(self, scope: Scope, title: str, file: IO[bytes], progress: Progress) -> None:
        # imports pyarrow: 28 MB and 0.3 s, which each process would spend
        from observatory.exchange.formats.parquet_file import write_parquet

        # the files are compressed already
        write_zip(file, zipfile.ZIP_STORED, ".parquet", scope, progress, partial(write_parquet, title))
