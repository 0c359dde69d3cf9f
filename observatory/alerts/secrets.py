"""Encrypts the addresses of channels, which have tokens and passwords."""

from __future__ import annotations

from observatory.clusters.encryption import Cipher, KeyLostError

_cipher = Cipher(b"observatory: addresses of channels")


class SecretLost(ValueError):
    """The key that encrypted a text is no longer known."""

    def __init__(self) -> None:
        super().__init__(
            "The address can't be decrypted, because the secret key (OBSERVATORY_SECRET_KEY) was changed. "
            "Enter the address again."
        )


def encrypt(text: str) -> str:
    return _cipher.encrypt(text)


def decrypt(secret: str) -> str:
    """Raises SecretLost."""
    try:
        return _cipher.decrypt(secret)
    except KeyLostError:
        raise SecretLost from None
