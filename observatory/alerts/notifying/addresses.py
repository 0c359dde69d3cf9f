"""The addresses of channels and of receivers of runs."""

from __future__ import annotations

from typing import Protocol

from django.core.exceptions import ValidationError

from observatory.alerts.notifying.errors import SendError
from observatory.alerts.notifying.receiver_addresses import check_host
from observatory.clusters.addresses.http_addresses import split_address

MAX_LENGTH = 2000
APPRISE = " For other services choose Apprise."


class AddressKind(Protocol):
    """What checks the addresses of a kind of channel or receiver."""

    def clean_address(self, text: str) -> str: ...
    def host_of(self, address: str, /) -> str | None: ...


def clean_address(kind: AddressKind, text: str) -> str:
    """Normalizes an address of a kind, whose host may be sent to. Looks the host up.

    Raises ValidationError, which says what is wrong.
    """
    text = text.strip()
    if len(text) > MAX_LENGTH:
        raise ValidationError(f"An address has at most {MAX_LENGTH:,} characters.")
    if not text.isprintable():
        raise ValidationError("An address must be a single line.")
    cleaned = kind.clean_address(text)
    if host := kind.host_of(cleaned):
        try:
            check_host(host)
        except SendError as error:
            raise ValidationError(str(error)) from None
    return cleaned


def check_http_address(text: str, example: str = "https://host:9093", advice: str = APPRISE) -> None:
    """Raises ValidationError for anything but the address of an HTTP server."""
    parts = split_address(text, example)
    if parts.scheme not in {"http", "https"}:
        raise ValidationError(f"Only http:// and https:// are supported.{advice}")
    if not parts.hostname or parts.port == 0 or any(character.isspace() for character in text):
        raise ValidationError(f"The address has no host. It looks like {example}.")


def mask_address(address: str) -> str:
    """The part of an address that isn't secret: slack://…"""
    return f"{address.partition('://')[0][:20]}://…"
