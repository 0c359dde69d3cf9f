"""Tokens of links: a digest, which finds the link, and the token encrypted, which shows it again."""

from __future__ import annotations

import secrets

from observatory.clusters.encryption import Cipher, KeyLostError
from observatory.clusters.tokens.ingest_tokens import digest_of

BYTES = 24
"""192 random bits"""
_cipher = Cipher(b"observatory: tokens of links")


def new_token() -> str:
    return secrets.token_urlsafe(BYTES)


def stored(token: str) -> dict[str, str]:
    """The fields of a link that stand for its token."""
    return {"digest": digest_of(token), "secret": _cipher.encrypt(token)}


def shown(secret: str) -> str:
    """The token; "" if the server's secret key was changed since."""
    try:
        return _cipher.decrypt(secret)
    except KeyLostError:
        return ""
