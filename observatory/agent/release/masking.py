"""Masks what looks secret in configurations, before it is recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

MASK = "***"
SECRET_NAME = re.compile(
    r"passw|passphrase|pwd$|secret|token(?!ize)|credential|private|key$|auth$|authorization$|cookie$|dsn$",
    re.IGNORECASE,
)
SECRETS_IN_TEXT = (
    (re.compile(r"://[^/\s]*@"), f"://{MASK}@"),
    (re.compile(r"(?i)((?:password|passwd|pwd|secret|token|key)[\w-]*\s*[=:]\s*)[^\s&;,]+"), rf"\1{MASK}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+\S+"), rf"\1 {MASK}"),
    (re.compile(r"(?s)-----BEGIN .*"), MASK),
)
SHORTEST = 6
"""characters of a secret that is masked wherever it is; a shorter one would mask ordinary words"""


def secrets_of(value: Any, is_secret: bool = False) -> Iterator[str]:
    """Yields the texts below names that look secret."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from secrets_of(each, is_secret or is_secret_name(str(name)))
    elif isinstance(value, list):
        for each in value:
            yield from secrets_of(each, is_secret)
    elif is_secret and isinstance(value, (str, int, float)) and len(str(value)) >= SHORTEST:
        yield str(value)


def is_secret_name(name: str) -> bool:
    return bool(SECRET_NAME.search(name))


def masked(value: Any, secrets: frozenset[str]) -> Any:
    """A copy of a value without what looks secret, and without `secrets`, wherever they are."""
    if isinstance(value, Mapping):
        return {
            str(name): MASK if is_secret_name(str(name)) else masked(each, secrets)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [masked(each, secrets) for each in value]
    if str(value) in secrets:
        return MASK
    if not isinstance(value, str):
        return value
    for secret in sorted(secrets, key=len, reverse=True):
        value = value.replace(secret, MASK)
    for pattern, replacement in SECRETS_IN_TEXT:
        value = pattern.sub(replacement, value)
    return value
