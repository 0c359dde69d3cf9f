"""What the programs print: a file each, bounded; and together on the terminal, for who wants to see."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import datetime
from pathlib import Path
from typing import IO

from honcho.colour import get_colours
from honcho.printer import Message, Printer

LARGEST = 20_000_000
"""bytes of a file; what was before is in name.log.1, and what was before that is gone"""
LAST_WORDS = 4_000


class Logs:
    """The files `folder`/name.log."""

    def __init__(self, folder: Path, verbose: bool) -> None:
        self.folder = folder
        self.verbose = verbose
        self._colours = get_colours()
        self._colour_of: dict[str, str] = {}
        self._shown: dict[str, int] = {}
        self._printer = Printer(sys.stdout)

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def open(self, name: str) -> IO[bytes]:
        """The file of `name`, to append to."""
        if name not in self._colour_of:
            self._colour_of[name] = next(self._colours)
            self._printer.width = max(map(len, self._colour_of))
            self._shown[name] = _size(self.path(name))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        return os.fdopen(os.open(self.path(name), flags, 0o600), "ab")

    def follow(self) -> None:
        """Shows what is new, when that was asked for; puts aside what has grown large."""
        for name in self._colour_of:
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
        if whole_lines:
            message = Message("line", whole_lines, datetime.now(), name, self._colour_of[name])
            self._printer.write(message)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
