"""Writes the tables of SQL in docs/sql.md. A test checks that they are up to date."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))
from make_archive_format import sentence, type_name  # noqa: E402

PAGE = ROOT / "docs/sql.md"
TABLES = re.compile(r"(<!-- tables -->\n).*?(<!-- end -->)", re.DOTALL)


def current(page: str) -> str:
    """The text of the page with its table made anew."""
    return TABLES.sub(lambda found: found[1] + tables() + found[2], page)


def tables() -> str:
    from observatory.store.sql.query import tables_by_name
    from observatory.store.sql.tables import OF_CLUSTER

    head = "| table | a row is, or what is in it | columns |\n| --- | --- | --- |\n"
    return head + "".join(
        f"| `{name}` | {sentence(table.meaning)} | "
        f"{', '.join(_column(field) for field in list(table.schema)[len(OF_CLUSTER) :])} |\n"
        for name, table in tables_by_name().items()
    )


def _column(field: Any) -> str:
    return f"{field.name} {type_name(field.type)}".strip()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "observatory.config.settings"
    import django

    django.setup()
    PAGE.write_text(current(PAGE.read_text()))
