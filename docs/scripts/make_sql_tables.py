"""Writes the tables of SQL in docs/sql.md. A test checks that they are up to date."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/sql.md"
TABLES = re.compile(r"(<!-- tables -->\n).*?(<!-- end -->)", re.DOTALL)
NAMES = {"string": "", "double": "*double*", "timestamp[us, tz=UTC]": "*time*"}
"""words for types; none for texts, which most columns are"""


def current(page: str) -> str:
    """The text of the page with its table made anew."""
    return TABLES.sub(lambda found: found[1] + tables() + found[2], page)


def tables() -> str:
    from observatory.exchange.sql.own_tables import OWN_TABLES
    from observatory.store.sql.query import tables_by_name

    found = {table.name: (table.meaning, dict(table.columns)) for table in OWN_TABLES}
    for name, table in tables_by_name().items():
        columns = {field.name: field.type for field in list(table.schema)[2:]}
        found[name] = (table.meaning, columns)
    head = "| table | a row is, or what is in it | columns |\n| --- | --- | --- |\n"
    return head + "".join(
        f"| `{name}` | {_sentence(meaning)} | {', '.join(_column(*each) for each in columns.items())} |\n"
        for name, (meaning, columns) in sorted(found.items())
    )


def _column(name: str, type: object) -> str:
    text = str(type)
    word = NAMES.get(text, f"*{text.replace('list<item: ', 'list of ').rstrip('>')}*")
    return f"{name} {word}".strip()


def _sentence(meaning: str) -> str:
    return meaning[0].lower() + meaning[1:].rstrip(".")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "observatory.config.settings"
    import django

    django.setup()
    PAGE.write_text(current(PAGE.read_text()))
