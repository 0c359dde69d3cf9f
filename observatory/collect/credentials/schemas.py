"""Credentials in the REST API."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema

from observatory.collect.credentials.credentials import PARTS

Workers = Literal["direct", "http", "credentials", "proxy"]


class CredentialsIn(Schema):
    """What the target asks for. It is stored encrypted and never returned.

    When a target is changed, fields that are left out keep their value, and "" removes it.
    """

    username: str | None = None
    password: str | None = None
    token: str | None = None
    """bearer token"""
    headers: dict[str, str] | None = None
    ca: str | None = None
    """certificates of the authorities to trust instead of the system's, as PEM"""
    certificate: str | None = None
    """client certificate, as PEM"""
    key: str | None = None
    """its private key, as PEM"""


def credential_fields(sent: CredentialsIn, stored: list[str]) -> dict[str, Any]:
    """The data of a form with fields of credentials. `stored`: the parts that are stored."""
    fields = sent.dict(exclude_none=True)
    emptied = {name for name, value in fields.items() if not value}
    if headers := fields.get("headers"):
        # a line break in a value would begin another header
        lines = (f"{name}: {' '.join(value.splitlines())}" for name, value in headers.items())
        fields["headers"] = "\n".join(lines)
    return {**fields, "forget": [part for part in stored if emptied.intersection(PARTS[part])]}
