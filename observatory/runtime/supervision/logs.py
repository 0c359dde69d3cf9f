"""What the programs print: a file each, bounded; and together on the terminal, for who wants to see."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import datetime
from pathlib import Path
from typing import IO

LARGEST = 20_000_000
"""bytes of a file; what was before is in name.log.1, and what was before that is gone"""
LAST_WORDS = 4_000
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
        """The file of `name`, to append to."""
        self._shown.setdefault(name, _size(self.path(name)))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        return os.fdopen(os.open(self.path(name), flags, 0o600), "ab")

    def follow(self) -> None:
        """Shows what is new, when that was asked for; puts aside what has grown large."""
        for name in self._shown:
            if self.verbose:
                self._show(name)
            path = self.path(name)
            if _size(path) > LARGEST:
                shutil.copyfile(path, path.with_suffix(".log.1"))
                os.truncate(path, 0)
                self._shown[name] = 0

    def last_words(self, name: str) -> str:
        """The last line of `name`, to end a sentence with, and where the others are."""
        path = self.path(name)
        lines = path.read_text(errors="replace")[-LAST_WORDS:].strip().splitlines()
        return f": {lines[-1].strip()[:300]} (all of it in {path})" if lines else ""

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


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
