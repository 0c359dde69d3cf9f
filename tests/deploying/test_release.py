"""`make release` in a clone of the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSION = "17.2.0"
WHO = {
    "GIT_AUTHOR_NAME": "Releaser",
    "GIT_AUTHOR_EMAIL": "releaser@example.org",
    "GIT_COMMITTER_NAME": "Releaser",
    "GIT_COMMITTER_EMAIL": "releaser@example.org",
    "NO_MKDOCS_2_WARNING": "1",
}
INSTALLED = ("bin/python", "installed", "installed-dev")
"""what make would install, and the tests' environment has"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What is committed, and the changelog of a version in the making."""
    folder = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-tags", str(ROOT), str(folder)], check=True)
    changelog = folder / "CHANGELOG.md"
    head, _, released = changelog.read_text().partition("## [Unreleased]\n")
    changelog.write_text(
        f"{head}## [Unreleased]\n### Added\n- A thing.\n\n## [0.0.1] - 2020-01-01\n{released}"
    )
    git(folder, "commit", "--quiet", "--all", "--message", "A thing")
    return folder


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=os.environ | WHO, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def release(folder: Path, *variables: str) -> subprocess.CompletedProcess[str]:
    old = [argument for name in INSTALLED for argument in ("--old-file", f"{sys.prefix}/{name}")]
    command = ["make", "--silent", *old, "release", f"VENV={sys.prefix}", *variables]
    return subprocess.run(command, cwd=folder, env=os.environ | WHO, capture_output=True, text=True)


def test_a_release_has_its_version_everywhere_and_says_what_is_left_to_do(clone: Path) -> None:
    done = release(clone, f"VERSION={VERSION}", "TAG=yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "git push origin HEAD v17.2.0" in done.stdout
    assert "twine upload" in done.stdout

    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "describe", "--exact-match") == f"v{VERSION}"
    changed = git(clone, "show", "--name-only", "--format=")
    assert {Path(name).name for name in changed.splitlines()} == {
        *("CHANGELOG.md", "__init__.py", "kustomization.yaml")
    }
    changelog = (clone / "CHANGELOG.md").read_text()
    sections = re.findall(r"^## \[(.+?)\]", changelog, re.MULTILINE)
    assert sections[:3] == ["Unreleased", VERSION, "0.0.1"]
    assert re.search(rf"## \[{VERSION}\] - \d{{4}}-\d\d-\d\d\n### Added\n- A thing.\n\n## ", changelog)

    wheel, sdist = sorted((clone / "dist").iterdir(), key=lambda path: path.suffix, reverse=True)
    assert (wheel.name, sdist.name) == (
        f"dask_observatory-{VERSION}-py3-none-any.whl",
        f"dask_observatory-{VERSION}.tar.gz",
    )
    names = zipfile.ZipFile(wheel).namelist()
    assert {"observatory/runtime/command_line.py", "observatory/frontend/site.js"} <= set(names)
    with tarfile.open(sdist) as archive:
        assert f"dask_observatory-{VERSION}/frontend/site.js" in archive.getnames()
    assert (clone / "site/running/index.html").exists()


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (("VERSION=1.2",), "is no version: write three numbers"),
        (("VERSION=0.0.1",), "is older than"),
        ((f"VERSION={VERSION}",), "the tag v17.2.0 exists"),
    ],
)
def test_a_release_that_cannot_be_made_changes_nothing(
    clone: Path, variables: tuple[str, ...], message: str
) -> None:
    git(clone, "tag", f"v{VERSION}")
    done = release(clone, *variables)
    assert done.returncode != 0
    assert message in done.stderr
    assert git(clone, "status", "--porcelain") == ""
    assert not (clone / "dist").exists()


def test_a_release_is_made_of_what_is_committed_alone(clone: Path) -> None:
    (clone / "README.md").write_text("changed")
    done = release(clone, f"VERSION={VERSION}")
    assert "the work tree has changes" in done.stderr
    assert not (clone / "dist").exists()
