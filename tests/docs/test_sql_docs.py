"""docs/sql.md lists the tables that queries know, and the limits that they have."""

from __future__ import annotations

from pathlib import Path

from observatory.store.sql.limits import OF_COMMAND, OF_REQUEST
from tests.docs.scripts import load_script

PAGE = Path(__file__).parents[2] / "docs/sql.md"


def test_the_page_of_sql_lists_the_tables_and_columns() -> None:
    page = PAGE.read_text()
    assert load_script("make_sql_tables").current(page) == page, "run docs/scripts/make_sql_tables.py"
    assert page.count("\n- `spans`: ") == 1


def test_the_page_of_sql_names_the_limits() -> None:
    page = PAGE.read_text()
    for limits in (OF_REQUEST, OF_COMMAND):
        for number in (limits.rows_read, limits.rows):
            assert f" {number:,}" in page
        assert f"| {limits.seconds} s" in page
    assert f"| {OF_REQUEST.memory} MiB" in page
