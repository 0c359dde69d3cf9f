"""Encrypts the addresses of receivers, which have tokens and keys, with their headers."""

from __future__ import annotations

import json

from observatory.alerts.notifying.errors import SendError
from observatory.clusters.encryption import Cipher, KeyLostError
from observatory.exchange.receivers.receiver_kind import Address

LOST = (
    "The address can't be decrypted, because the secret key (OBSERVATORY_SECRET_KEY) was changed. Enter the "
    "address again."
)
_cipher = Cipher(b"observatory: addresses of receivers of runs")


def encrypt(address: Address) -> str:
    return _cipher.encrypt(json.dumps({"url": address.url, "headers": dict(address.headers)}))


def decrypt(secret: str) -> Address:
    """Raises SendError if the key that encrypted it is no longer known."""
    try:
        found = json.loads(_cipher.decrypt(secret))
    except KeyLostError:
        raise SendError(LOST) from None
    return Address(found["url"], found["headers"])
