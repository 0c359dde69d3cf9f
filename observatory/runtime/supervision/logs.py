"""Log files of the programs: one each, bounded, and on the terminal with `--verbose`."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO

MAXIMUM_BYTES = 20_000_000
"""bytes of a log file; then it is renamed to name.log.1, which replaces the one before"""
TAIL = 4_000
"""characters in which the last line is searched"""
COLOURS = (36, 33, 32, 35, 34, 31)
"""of the terminal: cyan, yellow, green, magenta, blue, red"""


class Logs:
    """The files `folder`/name.log."""

    def __init__(self, folder: Path, verbose: bool) -> None:
        self.folder = folder
        self.verbose = verbose
        self._shown: dict[str, int] = {}

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def open(self, name: str) -> IO[bytes]:
        """Open the log file of `name` for appending."""
        self._shown.setdefault(name, _size(self.path(name)))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        return os.fdopen(os.open(self.path(name), flags, 0o600), "ab")

    def follow(self) -> None:
        """Print new lines if `verbose`; rotate files that are too large.

        A file that can't be read now, because somebody changed its folder, is left as it is.
        """
        for name in self._shown:
            with suppress(OSError):
                self._follow(name)

    def _follow(self, name: str) -> None:
        if self.verbose:
            self._show(name)
        path = self.path(name)
        if _size(path) > MAXIMUM_BYTES:
            _rotate(path)
            self._shown[name] = 0

    def last_line(self, name: str) -> str:
        """The last line in the log of `name`, and the path of the log; empty if there is none."""
        path = self.path(name)
        lines = path.read_text(errors="replace")[-TAIL:].strip().splitlines()
        return f": {lines[-1].strip()[:300]} (see {path})" if lines else ""

    def _show(self, name: str) -> None:
        with self.path(name).open("rb") as file:
            file.seek(self._shown[name])
            new = file.read()
        whole_lines = new[: new.rfind(b"\n") + 1]
        self._shown[name] += len(whole_lines)
        width = max(map(len, self._shown))
        prefix = f"{datetime.now():%H:%M:%S} {name:<{width}} | "
        if sys.stdout.isatty():
            prefix = f"\x1b[{COLOURS[list(self._shown).index(name) % len(COLOURS)]}m{prefix}\x1b[0m"
        for line in whole_lines.decode(errors="replace").splitlines():
            print(prefix + line, flush=True)


def _rotate(path: Path) -> None:
    """Programs append to the open file, so it is copied and emptied. On a full disk its lines are lost."""
    old = path.with_suffix(".log.1")
    try:
        shutil.copyfile(path, old)
    except OSError:
        old.unlink(missing_ok=True)
    os.truncate(path, 0)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
