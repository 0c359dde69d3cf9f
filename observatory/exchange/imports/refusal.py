"""Why a file isn't taken."""

from __future__ import annotations


class Refused(ValueError):
    """A file that can't be imported; the message says what is wrong with it, for people."""


class AlreadyHere(Refused):
    """The file was imported into the project before."""

    def __init__(self, run: int) -> None:
        super().__init__("This was imported before: it is there already.")
        self.run = run
        """its id"""
