"""Encrypts the addresses of receivers, which have tokens and keys, with their headers."""

from __future__ import annotations

import json

from observatory.alerts.secrets import SecretLost
from observatory.clusters.encryption import Cipher, KeyLostError
from observatory.exchange.receivers.receiver_kind import Address

_cipher = Cipher(b"observatory: addresses of receivers of runs")


def encrypt(address: Address) -> str:
    return _cipher.encrypt(json.dumps({"url": address.url, "headers": dict(address.headers)}))


def decrypt(secret: str) -> Address:
    """Raises SecretLost."""
    try:
        found = json.loads(_cipher.decrypt(secret))
    except KeyLostError:
        raise SecretLost from None
    return Address(found["url"], found["headers"])
