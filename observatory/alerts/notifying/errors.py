"""Errors of sending, without secrets in their messages."""

from __future__ import annotations

import re
from urllib.parse import unquote

MAX_LENGTH = 500
MIN_SECRET = 4
"""characters; shorter parts of an address also occur in ordinary words"""
SCHEME = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*://")
SEPARATORS = re.compile(r"[/?&=:@#,;]+")


class SendError(Exception):
    """A message couldn't be sent. The text may be stored, logged and shown."""


def scrub(text: str, address: str) -> str:
    """`text` as one line of limited length, without any part of `address`."""
    scheme = SCHEME.match(address)
    rest = address[scheme.end() :] if scheme else address
    parts = {address, rest, *SEPARATORS.split(rest)}
    for part in sorted(parts | {unquote(part) for part in parts}, key=len, reverse=True):
        if len(part) >= MIN_SECRET:
            text = text.replace(part, "…")
    return " ".join(text.split())[:MAX_LENGTH]
