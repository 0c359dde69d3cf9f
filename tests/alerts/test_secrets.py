from __future__ import annotations

from typing import Any

import pytest

from observatory.alerts.secrets import SecretLost, decrypt, encrypt


def test_what_is_encrypted_can_be_read_again() -> None:
    secret = encrypt("slack://T0K3N/ü")
    assert "T0K3N" not in secret
    assert decrypt(secret) == "slack://T0K3N/ü"
    assert encrypt("slack://T0K3N/ü") != secret


def test_under_another_key_it_has_to_be_entered_again(settings: Any) -> None:
    secret = encrypt("slack://T0K3N")
    settings.SECRET_KEY = "another"
    with pytest.raises(SecretLost, match="enter the address again"):
        decrypt(secret)


def test_a_key_that_was_replaced_goes_on_to_read(settings: Any) -> None:
    secret = encrypt("slack://T0K3N")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another"
    assert decrypt(secret) == "slack://T0K3N"


@pytest.mark.parametrize("damaged", ["", "nonsense", "ä"])
def test_what_is_damaged_has_to_be_entered_again(damaged: str) -> None:
    with pytest.raises(SecretLost):
        decrypt(damaged)
