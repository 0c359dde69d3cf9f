from __future__ import annotations

from typing import Any

import pytest

from observatory.alerts.secrets import SecretLost, decrypt, encrypt


def test_an_encrypted_text_can_be_decrypted() -> None:
    secret = encrypt("slack://T0K3N/ü")
    assert "T0K3N" not in secret
    assert decrypt(secret) == "slack://T0K3N/ü"
    assert encrypt("slack://T0K3N/ü") != secret


def test_a_text_of_another_key_cannot_be_decrypted(settings: Any) -> None:
    secret = encrypt("slack://T0K3N")
    settings.SECRET_KEY = "another"
    with pytest.raises(SecretLost, match="Enter the address again"):
        decrypt(secret)


def test_a_fallback_key_still_decrypts(settings: Any) -> None:
    secret = encrypt("slack://T0K3N")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another"
    assert decrypt(secret) == "slack://T0K3N"


@pytest.mark.parametrize("damaged", ["", "nonsense", "ä"])
def test_a_damaged_text_cannot_be_decrypted(damaged: str) -> None:
    with pytest.raises(SecretLost):
        decrypt(damaged)
