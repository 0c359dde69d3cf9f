"""The documents name files that exist, and lead to pages that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.scripts import load_script

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FILE = re.compile(r"`([\w./-]+\.(?:py|js|css|html|toml|txt))`")
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
ELSEWHERE = {"plotly.min.js", "/info/main/logs.html", "/info/main/workers.html"}
EXAMPLES = {"history.js", "steal.py", "matrix.py"}
"""files that a document tells the reader to add"""
INTERNAL = {"demo_token", "watch_demo", "check_bundles", "make_bundle"}
"""commands that `up --demo` and `check` run"""


def files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for path in listed.stdout.splitlines() if (ROOT / path).exists()]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    existing = [f"/{path}" for path in files()]
    named = set(FILE.findall(document.read_text())) - ELSEWHERE - EXAMPLES
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in existing)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_of_a_document_leads_somewhere(document: Path) -> None:
    for link in LINK.findall(document.read_text()):
        place, _, anchor = link.partition("#")
        page = (document.parent / place).resolve() if place else document
        assert page.exists(), link
        assert not anchor or anchor in anchors(page), link


def test_what_each_module_of_a_folder_is_can_be_printed() -> None:
    script = load_script("list_modules")
    folder = "observatory/store/archive"
    summaries = {path.relative_to(ROOT).as_posix(): script.summary(path) for path in script.modules([folder])}
    assert f"{folder}/scans" not in summaries
    assert summaries[f"{folder}/scans/row_groups.py"]
    assert all(text.endswith((".", "…")) for text in summaries.values())


def test_every_document_is_named_in_the_readme_or_in_the_overview_of_the_architecture() -> None:
    readme, overview = ROOT / "README.md", ROOT / "docs/architecture/README.md"
    links = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in (readme, overview)
        for link in LINK.findall(page.read_text())
    }
    assert set((ROOT / "docs").rglob("*.md")) - links == set()


def test_running_lists_every_command() -> None:
    commands_part = (ROOT / "docs" / "running.md").read_text().partition("Django's own commands")[0]
    items = re.findall(r"^- (`.*?):", commands_part, re.M)
    listed = {name for item in items for name in re.findall(r"`(\w+)`", item)}
    commands = {path.stem for path in ROOT.glob("observatory/*/management/commands/[a-z]*.py")}
    assert listed == commands - INTERNAL
