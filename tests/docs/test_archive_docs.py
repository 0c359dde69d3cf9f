"""docs/archive.md lists the files that are written, and its examples work."""

from __future__ import annotations

from pathlib import Path

from tests.docs.scripts import load_script

PAGE = Path(__file__).parents[2] / "docs/archive.md"


def test_the_page_of_the_archive_lists_the_files_and_columns_that_are_written() -> None:
    page = PAGE.read_text()
    assert load_script("make_archive_format").current(page) == page, "run docs/scripts/make_archive_format.py"
    assert page.count("\n- `span` as `spans`, by ") == 1
