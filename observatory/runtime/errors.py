"""The one error that the command line shows as one line."""

from __future__ import annotations


class RuntimeFault(Exception):
    """Something outside of our code that stops us from running; the message says what, and what to do."""
