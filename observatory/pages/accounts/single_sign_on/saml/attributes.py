"""The attributes of a SAML assertion on a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from observatory.base.sign_in.saml import Saml
from observatory.pages.accounts.single_sign_on.identity import Identity, groups_in

Values = dict[str, list[Any]]
"""as python3-saml has them: texts, and NameIDs as dictionaries"""


@dataclass(frozen=True, slots=True)
class Person:
    """In place of python3-saml's object, from which allauth reads attributes."""

    id: str
    email: str = ""
    user_name: str = ""
    groups: list[str] = field(default_factory=list)

    def get_attributes(self) -> dict[str, list[str]]:
        found = {"uid": [self.id], "groups": self.groups}
        if self.email:
            found["email"] = [self.email]
        if self.user_name:
            found["username"] = [self.user_name]
        return found

    def get_nameid_format(self) -> str:
        return ""  # allauth would take the NameID for the address


def identity_of(saml: Saml, data: dict[str, Any]) -> Identity:
    """The person whose attributes allauth has kept."""
    email = next(iter(data.get("email", [])), "") if saml.trusts_email else ""
    groups = groups_in(data.get("groups")) if saml.groups_attribute else None
    return Identity(email, groups)


def texts(values: Values, name: str) -> list[str]:
    """The values of an attribute; those of eduPersonTargetedID are NameIDs."""
    found = [value["NameID"]["value"] if isinstance(value, dict) else value for value in values.get(name, [])]
    return [text for text in found if isinstance(text, str) and text]


def first_text(values: Values, names: Sequence[str]) -> str:
    """The first value of the first attribute that has one."""
    return next((text for name in names for text in texts(values, name)), "")
