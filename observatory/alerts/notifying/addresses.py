"""The addresses of channels."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from observatory.alerts.notifying.channels import channel_kinds
from observatory.alerts.notifying.errors import SendError
from observatory.alerts.notifying.receiver_addresses import check_host
from observatory.clusters.addresses import split_address

MAX_LENGTH = 2000
APPRISE = " For other services choose Apprise."


def clean_address(kind: str, text: str) -> str:
    """Normalizes the address of a channel of a kind, whose host may be sent to. Looks the host up.

    Raises ValidationError, which says what is wrong.
    """
    text = text.strip()
    if len(text) > MAX_LENGTH:
        raise ValidationError(f"An address has at most {MAX_LENGTH:,} characters.")
    if not text.isprintable():
        raise ValidationError("An address must be a single line.")
    channel_kind = channel_kinds()[kind]
    cleaned = channel_kind.clean_address(text)
    if host := channel_kind.host_of(cleaned):
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
