"""Encrypts secrets that have to be shown or used again, with a key derived from Django's SECRET_KEY."""

from __future__ import annotations

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.encoding import force_bytes


class KeyLostError(ValueError):
    """The secret key that encrypted a text is no longer known."""


class Cipher:
    """Encrypts texts of one purpose, which has a key of its own."""

    def __init__(self, purpose: bytes) -> None:
        self._purpose = purpose

    def encrypt(self, text: str) -> str:
        return self._keys().encrypt(text.encode()).decode()

    def decrypt(self, secret: str) -> str:
        """Raises KeyLostError."""
        try:
            return self._keys().decrypt(secret.encode()).decode()
        except InvalidToken:
            raise KeyLostError("The secret key (OBSERVATORY_SECRET_KEY) was changed.") from None

    def _keys(self) -> MultiFernet:
        """The first key encrypts; those of SECRET_KEY_FALLBACKS only decrypt."""
        return MultiFernet([self._key(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])

    def _key(self, secret_key: str | bytes) -> Fernet:
        derived = HKDF(SHA256(), length=32, salt=None, info=self._purpose).derive(force_bytes(secret_key))
        return Fernet(urlsafe_b64encode(derived))
