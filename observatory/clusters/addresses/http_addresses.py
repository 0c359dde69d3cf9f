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
    _check_host(parts, text)
    if parts.query or parts.fragment:
        raise ValidationError("An address has no ? and no #.")
    path = parts.path.rstrip("/").removesuffix("/status")
    return urlunsplit((parts.scheme, parts.netloc.lower(), path, "", ""))


def clean_http_address(text: str, example: str, is_page: bool = False) -> str:
    """`text` as the address of an HTTP server, without a trailing slash; `is_page`: as it is, with its query.

    Raises ValidationError, which says what is wrong or shows the example.
    """
    text = text.strip()
    parts = split_address(text, example)
    if parts.scheme not in {"http", "https"}:
        raise ValidationError(f"Only http:// and https:// are spoken, as in {example}.")
    _check_host(parts, text)
    if parts.fragment or (parts.query and not is_page):
        raise ValidationError("This address has no #." if is_page else "This address has no ? and no #.")
    path = parts.path if is_page else parts.path.rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc.lower(), path, parts.query, ""))


def _check_host(parts: SplitResult, text: str) -> None:
    if not parts.hostname or not text.isprintable() or any(c.isspace() for c in text):
        raise ValidationError("This address names no host.")
    if parts.username is not None or parts.password is not None:
        raise ValidationError("An address can't carry a user name or password: it is shown to all members.")
    if parts.port == 0:
        raise ValidationError("Port 0 is no port.")


def validate_target_url(text: str) -> None:
    """A validator for models: raises ValidationError as clean_target_url does."""
    clean_target_url(text)
