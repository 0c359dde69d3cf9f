"""What may be entered as a channel's address."""

from __future__ import annotations

from apprise.manager_plugins import NotificationManager
from django.core.exceptions import ValidationError

from observatory.alerts.models import Channel
from observatory.alerts.notifying.services import service_of
from observatory.clusters.addresses import split_address

LONGEST = 2000
MOST_FORMS = 3
"""ways to write a service's addresses that an error names"""
EXAMPLES = "slack://TokenA/TokenB/TokenC/#channel, mailto://user:password@example.org?to=team@example.org"
PUSH_PATH = "/api/v2/alerts"


def clean_address(kind: str, text: str) -> str:
    """`text` as an address of a channel of `kind`. Raises ValidationError, which says what is wrong."""
    text = text.strip()
    if len(text) > LONGEST:
        raise ValidationError(f"An address has at most {LONGEST} characters.")
    if not text.isprintable():
        raise ValidationError("An address is one line.")
    if kind == Channel.Kind.APPRISE:
        _check_service(text)
        return text
    _check_http(text)
    if kind == Channel.Kind.ALERTMANAGER:
        return text.split("#")[0].rstrip("/").removesuffix(PUSH_PATH)
    return text


def _check_service(text: str) -> None:
    scheme, separator, _ = text.partition("://")
    if not separator:
        raise ValidationError(f"An address begins with what it is of, as in {EXAMPLES}.")
    if service_of(text) is not None:
        return
    known = NotificationManager()
    if scheme.lower() in ("http", "https"):
        raise ValidationError(
            f"Apprise knows no service by this address: choose “{Channel.Kind.WEBHOOK.label}” if it is one. "
            f"Addresses of services look like {EXAMPLES}."
        )
    if scheme.lower() not in known:
        raise ValidationError(f"Apprise knows no “{scheme[:30]}://”. Addresses look like {EXAMPLES}.")
    service = known[scheme.lower()]
    forms = [form.replace("{schema}", scheme.lower()) for form in service.templates[:MOST_FORMS]]
    raise ValidationError(
        f"This is no whole address of {service.service_name}. It looks like {' or '.join(forms)}; "
        f"{service.setup_url} tells more."
    )


def _check_http(text: str) -> None:
    parts = split_address(text, "https://host:9093")
    if parts.scheme not in {"http", "https"}:
        raise ValidationError("Only http:// and https:// are spoken; for other services choose Apprise.")
    if not parts.hostname or parts.port == 0 or any(character.isspace() for character in text):
        raise ValidationError("This address names no host, as https://host:9093 does.")
