"""The documents become a site in which every link leads somewhere and everything can be searched."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PARAGRAPH, ITEM = re.compile(r"[^\s#|<>-]"), re.compile(r"([-*]|\d+\.) ")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_every_document_is_a_page_of_the_site(site: Path) -> None:
    names = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    names |= {Path(name) for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY")}
    for name in names:
        folder = name.parent if name.name in ("index", "README") else name
        assert (site / folder / "index.html").exists(), name


def test_settings_and_commands_are_found_by_the_search(site: Path) -> None:
    pages = json.loads((site / "search/search_index.json").read_text())["docs"]
    for wanted in ("OBSERVATORY_TRUSTED_PROXIES", "observatory.retire-token", "ingest_token"):
        assert any(wanted in page["text"] for page in pages), wanted


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_list_begins_after_an_empty_line_and_an_inner_one_after_four_spaces(document: Path) -> None:
    # otherwise it is a part of the paragraph, or of the outer list
    text = re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    lines = text.split("\n")
    for before, line in pairwise(lines):
        is_item = ITEM.match(line)
        assert not (is_item and PARAGRAPH.match(before) and not ITEM.match(before)), line
        assert not re.match(r" {1,3}([-*]|\d+\.) ", line), line
