"""Errors of imports."""

from __future__ import annotations


class Refused(ValueError):
    """A file that cannot be imported; the message explains why to people."""


class AlreadyHere(Refused):
    """The file was imported into the project before."""

    def __init__(self, run: int) -> None:
        super().__init__("This was imported before: it is there already.")
        self.run = run
        """its id"""
