"""That a message couldn't be sent, in words that hold no secret."""

from __future__ import annotations

import re
from urllib.parse import unquote

LONGEST = 500
SHORTEST_SECRET = 4
"""characters: what is shorter is found in every other word"""
SCHEME = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*://")
BETWEEN = re.compile(r"[/?&=:@#,;]+")


class SendError(Exception):
    """The reason may be stored, logged and shown."""


def scrub(text: str, address: str) -> str:
    """`text` as one bounded line, in which nothing of `address` is left."""
    scheme = SCHEME.match(address)
    rest = address[scheme.end() :] if scheme else address
    parts = {address, rest, *BETWEEN.split(rest)}
    for part in sorted(parts | {unquote(part) for part in parts}, key=len, reverse=True):
        if len(part) >= SHORTEST_SECRET:
            text = text.replace(part, "…")
    return " ".join(text.split())[:LONGEST]
