"""Encrypts the addresses of channels, which have tokens and passwords, with Django's SECRET_KEY."""

from __future__ import annotations

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.encoding import force_bytes

PURPOSE = b"observatory: addresses of channels"


class SecretLost(ValueError):
    """The key that encrypted a text is no longer known."""

    def __init__(self) -> None:
        super().__init__(
            "The address can't be decrypted, because the secret key (OBSERVATORY_SECRET_KEY) was changed. "
            "Enter the address again."
        )


def encrypt(text: str) -> str:
    return _keys().encrypt(text.encode()).decode()


def decrypt(secret: str) -> str:
    """Raises SecretLost."""
    try:
        return _keys().decrypt(secret.encode()).decode()
    except InvalidToken:
        raise SecretLost from None


def _keys() -> MultiFernet:
    """The first key encrypts; those of SECRET_KEY_FALLBACKS only decrypt."""
    return MultiFernet([_key(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _key(secret_key: str | bytes) -> Fernet:
    derived = HKDF(SHA256(), length=32, salt=None, info=PURPOSE).derive(force_bytes(secret_key))
    return Fernet(urlsafe_b64encode(derived))
