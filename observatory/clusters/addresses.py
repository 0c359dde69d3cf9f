"""HTTP addresses, and those that targets may have."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit, urlunsplit

from django.core.exceptions import ValidationError


def split_address(text: str, example: str) -> SplitResult:
    """Its parts, whose host and port can be read. Raises ValidationError, which shows the example."""
    if "://" not in text:
        raise ValidationError(f"An address starts with http:// or https://, as in {example}.")
    try:
        parts = urlsplit(text)
        _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValidationError(f"This is no address: {error}.") from None
    return parts


def clean_target_url(text: str) -> str:
    """`text` as a target's address: http(s)://host[:port][/path], without the /status of a dashboard link.

    Raises ValidationError, which says what is wrong. (Django's URLValidator would refuse `http://scheduler`.)
    """
    text = text.strip()
    parts = split_address(text, "http://host:8787")
    if parts.scheme not in {"http", "https"}:
        raise ValidationError(
            "Only http:// and https:// are spoken: give the dashboard's address (port 8787), not tcp://."
        )
    if not parts.hostname or not text.isprintable() or any(c.isspace() for c in text):
        raise ValidationError("This address names no host.")
    if parts.username is not None or parts.password is not None:
        raise ValidationError("An address can't carry a user name or password: it is shown to all members.")
    if parts.query or parts.fragment:
        raise ValidationError("An address has no ? and no #.")
    if parts.port == 0:
        raise ValidationError("Port 0 is no port.")
    path = parts.path.rstrip("/").removesuffix("/status")
    return urlunsplit((parts.scheme, parts.netloc.lower(), path, "", ""))


def validate_target_url(text: str) -> None:
    """A validator for models: raises ValidationError as clean_target_url does."""
    clean_target_url(text)
