"""Makes a release: version, section of the changelog, wheel, sdist and site; with `--tag` a tag.

`make release VERSION=1.2.3` runs it, with `TAG=yes` for a commit and its tag. Nothing leaves this machine.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CODE = ROOT / "observatory/__init__.py"
IMAGE = ROOT / "deploy/kubernetes/examples/overlay/kustomization.yaml"
CHANGELOG = ROOT / "CHANGELOG.md"
DIST = ROOT / "dist"
CODE_VERSION = re.compile(r'(?<=__version__ = ")[^"]+')
IMAGE_VERSION = re.compile(r'(?<=newTag: ")[^"]+')
UNRELEASED = re.compile(r"^## \[Unreleased\]\n(.*?)(?=^## \[|\Z)", re.MULTILINE | re.DOTALL)
TO_DO = """Left to do by hand:
- before: `make lint`, `make test`, `make test-long` and `make bench` pass, and docs/benchmarks.md is
  committed; `make snapshot` keeps a backup of this version for the tests of upgrades
- {commit}
- `git push origin HEAD v{version}`
- `twine upload dist/*`, then install it in an empty environment and run `dask-observatory demo`
- build and push the image: `docker build --tag …/dask-observatory:{version} .`
- publish the folder site/"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--tag", action="store_true", help="commit, and tag the commit")
    options = parser.parse_args()
    version: str = options.version
    section = check(version)
    write(version, section)
    build()
    if options.tag:
        run("git", "commit", "--quiet", "--all", "--message", f"Release {version}")
        run("git", "tag", "--annotate", f"v{version}", "--message", f"Dask Observatory {version}")
        commit = f"look at `git show v{version}`"
    else:
        commit = f"look at `git diff`, commit, and tag the commit v{version}; TAG=yes does both"
    print(TO_DO.format(version=version, commit=commit))


def check(version: str) -> str:
    """The changelog's unreleased section, where a release of `version` can be made."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"Error: {version!r} is no version: write three numbers, such as 1.2.3")
    found = CODE_VERSION.search(CODE.read_text())
    if found is None or numbers(version) < numbers(found[0]):
        sys.exit(f"Error: {version} is older than {found and found[0]}, which {CODE.name} has")
    if output("git", "status", "--porcelain"):
        sys.exit("Error: the work tree has changes: commit or remove them first")
    if output("git", "tag", "--list", f"v{version}"):
        sys.exit(f"Error: the tag v{version} exists: choose the next version")
    section = UNRELEASED.search(CHANGELOG.read_text())
    if section is None or not section[1].strip():
        sys.exit("Error: CHANGELOG.md has nothing in a section [Unreleased]")
    return section[1].strip()


def write(version: str, section: str) -> None:
    """Write the version where it stands, and date the changelog's section."""
    dated = f"## [Unreleased]\n\n## [{version}] - {datetime.now(UTC):%Y-%m-%d}\n{section}\n\n"
    for path, pattern, text in (
        (CODE, CODE_VERSION, version),
        (IMAGE, IMAGE_VERSION, version),
        (CHANGELOG, UNRELEASED, dated),
    ):
        changed, times = pattern.subn(lambda _, text=text: text, path.read_text())
        assert times == 1, path
        path.write_text(changed.rstrip() + "\n")


def build() -> None:
    """Make wheel, sdist and site anew."""
    for folder in (DIST, ROOT / "site"):
        shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "--directory", str(DIST))
    files = map(str, sorted(DIST.iterdir()))
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    run(sys.executable, "-m", "mkdocs", "--quiet", "build")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def run(*command: str) -> None:
    subprocess.run(command, cwd=ROOT, check=True)


def output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(
            f"Error: {' '.join(map(str, error.cmd[:4]))} … failed; `git checkout .` undoes what was written"
        )
