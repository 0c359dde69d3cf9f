"""The error that the command line shows as one line."""

from __future__ import annotations


class StartupError(Exception):
    """A cause outside of the code prevents Observatory from running. The message says how to fix it."""
