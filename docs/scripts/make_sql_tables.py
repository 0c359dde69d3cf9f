"""Writes the list of tables of SQL in docs/sql.md. A test checks that they are up to date."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))
from make_archive_format import sentence  # noqa: E402

PAGE = ROOT / "docs/sql.md"
TABLES = re.compile(r"(<!-- tables -->\n).*?(<!-- end -->)", re.DOTALL)


def current(page: str) -> str:
    """The text of the page with its list made anew."""
    return TABLES.sub(lambda found: found[1] + tables() + found[2], page)


def tables() -> str:
    from observatory.store.sql.query import tables_by_name
    from observatory.store.sql.tables import OF_CLUSTER

    return "".join(
        f"- `{name}`: {sentence(table.meaning)}. *Columns*: "
        f"{', '.join(field.name for field in list(table.schema)[len(OF_CLUSTER) :])}\n"
        for name, table in tables_by_name().items()
    )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "observatory.config.settings"
    import django

    django.setup()
    PAGE.write_text(current(PAGE.read_text()))
