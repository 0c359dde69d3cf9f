"""Prints which files adding one thing of each kind has changed, from the commits that did it.

    python docs/scripts/files_changed.py [--since DATE] [--repository FOLDER]

A commit adds a thing of a kind if it adds a file to the kind's folder or a line that declares one. The commit
that changed the fewest files speaks for its kind: the others changed more besides.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SINCE = "2026-11-28 00:00"
"""since then, imports have one direction and a chart owns its feature"""
RECORD = "\x1e"
BESIDE_CODE = ("tests/", "docs/", "benchmarks/", "CHANGELOG.md")


@dataclass(frozen=True)
class Kind:
    """What can be added: `file` matches a path that is new, or `line` a line that is new in such a path."""

    name: str
    file: str
    line: str | None = None


KINDS = (
    Kind("field of a record", r"observatory/wire/kinds/\w+\.py", r"        Field\("),
    Kind("chart", r"frontend/charts/(\w+)/(\1|chart)\.js"),
    Kind("tab", r"frontend/tabs/\w+\.js"),
    Kind("finding", r"observatory/why/findings/kinds/(\w+/)?\w+\.py"),
    Kind("channel", r"observatory/alerts/notifying/channels/\w+\.py"),
    Kind("ready-made rule", r"observatory/alerts/rules/ready_made\.py", r"    ReadyMade\("),
    Kind("format of an export", r"observatory/exchange/formats/\w+\.py"),
    Kind("metric", r"observatory/wire/metrics\.py", r"    Metric\("),
    Kind("discovery", r"observatory/collect/discovery/kinds/\w+\.py"),
    Kind("setting", r"docs/settings\.md", r"[|-] `OBSERVATORY_"),
)


@dataclass(frozen=True)
class Commit:
    """`added` are the paths that are new, `changed` all paths, `lines` the new lines of each."""

    digest: str
    subject: str
    added: frozenset[str]
    changed: tuple[str, ...]
    lines: dict[str, list[str]]

    def adds(self, kind: Kind) -> bool:
        if kind.line is None:
            return any(re.fullmatch(kind.file, path) for path in self.added)
        return any(
            re.fullmatch(kind.file, path)
            and path not in self.added
            and any(re.match(kind.line, line) for line in lines)
            for path, lines in self.lines.items()
        )


def commits(repository: Path, since: str) -> list[Commit]:
    """The commits after a date, the newest first. Moved files are no new ones."""
    command = [
        "git",
        "-C",
        str(repository),
        "log",
        f"--since={since}",
        "--no-merges",
        "--find-renames",
        "--unified=0",
    ]
    text = subprocess.run(
        [*command, "--patch", "--no-color", "--no-ext-diff", f"--format={RECORD}%h %s"],
        check=True,
        capture_output=True,
        text=True,
        errors="replace",
    ).stdout
    return [_parsed(record) for record in text.split(RECORD)[1:]]


def _parsed(record: str) -> Commit:
    head, *files = re.split(r"^diff --git ", record, flags=re.MULTILINE)
    digest, _, subject = head.strip().partition(" ")
    added: set[str] = set()
    lines: dict[str, list[str]] = {}
    for text in files:
        path = text.split("\n", 1)[0].rpartition(" b/")[2]
        if re.search(r"^new file mode", text, flags=re.MULTILINE):
            added.add(path)
        lines[path] = [
            line[1:] for line in text.split("\n") if line.startswith("+") and not line.startswith("+++")
        ]
    return Commit(digest, subject, frozenset(added), tuple(sorted(lines)), lines)


def report(found: Sequence[Commit]) -> str:
    """For each kind its smallest commit with the files that it changed; tests and documents are apart."""
    parts = []
    for kind in KINDS:
        additions = [commit for commit in found if commit.adds(kind)]
        if not additions:
            parts.append(f"{kind.name}: none was added\n")
            continue
        commit = min(additions, key=lambda one: len(one.changed))
        code = [path for path in commit.changed if not path.startswith(BESIDE_CODE)]
        others = [path for path in commit.changed if path.startswith(BESIDE_CODE)]
        counts = f"{len(code)} of code, {len(others)} of tests and docs"
        parts.append(f"{kind.name}: {counts} ({commit.digest} {commit.subject})\n")
        parts += [f"    {path}\n" for path in [*code, *others]]
    return "".join(parts)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description="Prints which files adding one thing of each kind has changed."
    )
    parser.add_argument("--since", default=SINCE, help=f"a date that git understands (default {SINCE})")
    parser.add_argument("--repository", type=Path, default=ROOT)
    options = parser.parse_args(arguments)
    try:
        found = commits(options.repository, options.since)
    except subprocess.CalledProcessError as error:
        print(f"git can't read the commits: {error.stderr.strip()}", file=sys.stderr)
        return 1
    sys.stdout.write(report(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
