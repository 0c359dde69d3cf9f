"""Credentials as they are stored: one encrypted text."""

from __future__ import annotations

import json

from observatory.clusters.encryption import Cipher, KeyLostError
from observatory.collect.credentials.credentials import Credentials

_cipher = Cipher(b"observatory: credentials of targets")


class CredentialsLost(ValueError):
    """The key that encrypted the credentials is no longer known."""

    def __init__(self) -> None:
        super().__init__(
            "The credentials can't be decrypted, because the secret key (OBSERVATORY_SECRET_KEY) was "
            "changed. Enter them again."
        )


def seal(credentials: Credentials) -> str:
    """The encrypted text to store; "" for no credentials."""
    fields = credentials.as_fields()
    return _cipher.encrypt(json.dumps(fields)) if fields else ""


def unseal(secret: str) -> Credentials:
    """The credentials of a stored text. Raises CredentialsLost."""
    if not secret:
        return Credentials()
    try:
        return Credentials.of(json.loads(_cipher.decrypt(secret)))
    except KeyLostError:
        raise CredentialsLost from None


def stored_parts(secret: str) -> list[str]:
    """The names of the parts that are stored; those that cannot be decrypted are unknown."""
    try:
        return unseal(secret).parts()
    except CredentialsLost:
        return []
