"""Writes the lists of files in docs/archive.md. A test checks that they are up to date."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/archive.md"
RECORDS = re.compile(r"(<!-- records -->\n).*?(<!-- end -->)", re.DOTALL)
OTHERS = re.compile(r"(<!-- others -->\n).*?(<!-- end -->)", re.DOTALL)


def current(page: str) -> str:
    """The text of the page with its lists made anew."""
    page = RECORDS.sub(lambda found: found[1] + records() + found[2], page)
    return OTHERS.sub(lambda found: found[1] + others() + found[2], page)


def records() -> str:
    """The files of records, one kind a line."""
    from observatory.store.archive.files.writing import order_of
    from observatory.store.sql.tables import record_tables

    return "".join(
        f"- `{table.kind.name}` as `{table.name}`, by {', '.join(order_of(table.kind))}\n"
        for table in record_tables()
    )


def others() -> str:
    """The other files, one a line."""
    from observatory.store.archive.files.run_tables import RUN_TABLES
    from observatory.store.archive.files.tables import CATALOGUE, OTHER_TABLES

    tables = (*OTHER_TABLES, *(table.file for table in RUN_TABLES), CATALOGUE)
    return "".join(f"- `{table.name}`: {table.meaning}\n" for table in tables)


def sentence(meaning: str) -> str:
    return meaning[0].lower() + meaning[1:].rstrip(".")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "observatory.config.settings"
    import django

    django.setup()
    PAGE.write_text(current(PAGE.read_text()))
