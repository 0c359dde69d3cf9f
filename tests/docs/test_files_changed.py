"""docs/scripts/files_changed.py: which files adding one thing of each kind has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.scripts import FOLDER

Commit = Callable[[str, dict[str, str]], None]
ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
ANN = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")


def git(repository: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(repository), *ANN, *arguments], check=True, env=ENVIRONMENT)


def printed(repository: Path) -> str:
    script = FOLDER / "files_changed.py"
    command = [sys.executable, str(script), "--repository", str(repository), "--since", "2020-01-01"]
    return subprocess.run(command, check=True, env=ENVIRONMENT, capture_output=True, text=True).stdout


@pytest.fixture
def commit(tmp_path: Path) -> Commit:
    """Commits the texts of files by their paths into a repository of its own in `tmp_path`."""
    git(tmp_path, "init", "-q")

    def write(subject: str, texts: dict[str, str]) -> None:
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git(tmp_path, "add", "--all")
        git(tmp_path, "commit", "-q", "-m", subject)

    return write


def test_the_commit_that_changed_the_fewest_files_speaks_for_its_kind(tmp_path: Path, commit: Commit) -> None:
    kinds = "observatory/why/findings/kinds"
    commit("Two things", {f"{kinds}/gil.py": "1", "manage.py": "1", "observatory/other.py": "1"})
    commit("Why: idle", {f"{kinds}/idle.py": "1", "tests/why/test_idle.py": "1", "docs/why.md": "1"})
    commit("Mended", {f"{kinds}/idle.py": "2"})
    lines = printed(tmp_path).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("finding: "))
    assert lines[begin].startswith("finding: 1 of code, 2 of tests and docs (")
    assert lines[begin].endswith("Why: idle)")
    assert lines[begin + 1 : begin + 4] == [
        f"    {kinds}/idle.py",
        "    docs/why.md",
        "    tests/why/test_idle.py",
    ]
    assert "channel: none was added" in lines


def test_a_moved_file_is_not_new_and_a_declaration_in_a_file_is(tmp_path: Path, commit: Commit) -> None:
    channels = "observatory/alerts/notifying/channels"
    commit("First", {f"{channels}/old.py": "a\nb\nc\n", "docs/settings.md": "| `OBSERVATORY_ONE` | 1 |\n"})
    commit("One more", {"docs/settings.md": "| `OBSERVATORY_ONE` | 1 |\n| `OBSERVATORY_TWO` | 2 |\n"})
    git(tmp_path, "mv", f"{channels}/old.py", f"{channels}/new.py")
    git(tmp_path, "commit", "-q", "-m", "Moved")
    text = printed(tmp_path)
    assert "First)" in next(line for line in text.splitlines() if line.startswith("channel: "))
    assert "One more)" in next(line for line in text.splitlines() if line.startswith("setting: "))
    assert "Moved)" not in text


def test_a_folder_without_commits_is_named(tmp_path: Path) -> None:
    script = [sys.executable, str(FOLDER / "files_changed.py"), "--repository", str(tmp_path)]
    ended = subprocess.run(script, env=ENVIRONMENT, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "git can't read the commits" in ended.stderr
