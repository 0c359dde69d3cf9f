"""The headers that are sent with each request to a receiver, as people enter them."""

from __future__ import annotations

import re

from django.core.exceptions import ValidationError

NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
MOST_HEADERS = 10
LONGEST_VALUE = 4_000
OURS = {
    *("connection", "content-encoding", "content-length", "content-type", "expect", "host"),
    *("keep-alive", "te", "trailer", "transfer-encoding", "upgrade"),
}


def read_headers(text: str) -> dict[str, str]:
    """Headers by name from lines like `Authorization: Bearer …`. Raises ValidationError."""
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not NAME.fullmatch(name):
            raise ValidationError("Enter one header a line, such as Authorization: Bearer …")
        if name.lower() in OURS:
            raise ValidationError(f"The header {name} can't be set.")
        if not value or not value.isascii() or not value.isprintable() or len(value) > LONGEST_VALUE:
            raise ValidationError(
                f"The value of {name} must have 1 to {LONGEST_VALUE:,} printable ASCII characters."
            )
        found[name] = value
    if len(found) > MOST_HEADERS:
        raise ValidationError(f"A receiver has at most {MOST_HEADERS} headers.")
    return found
