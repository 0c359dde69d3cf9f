"""What an issuer or an identity provider says of a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LONGEST_GROUP = 200


@dataclass(frozen=True, slots=True)
class Identity:
    """A person, as far as it decides which account is theirs and what it may."""

    verified_email: str
    """"" : none, or one that might be somebody else's"""
    groups: list[str] | None
    """None: groups give no roles"""


def groups_in(found: Any) -> list[str]:
    """The groups in a claim or attribute, which can be one text."""
    values = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return [value for value in values if isinstance(value, str) and 0 < len(value) <= LONGEST_GROUP]
