"""Services that Apprise supports: chat, e-mail, paging and others, each with its own form of address."""

from __future__ import annotations

import re
from datetime import datetime
from logging import DEBUG
from typing import Any

import apprise
from apprise.manager_plugins import NotificationManager
from apprise.plugins.email import NotifyEmail
from django.conf import settings
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.urls import reverse

from observatory.alerts.models import Severity
from observatory.alerts.notifying.apprise_services import (
    MARKDOWN,
    host_of_service,
    is_known,
    refused_parameters,
    scheme_of,
)
from observatory.alerts.notifying.channel_kind import ChannelKind
from observatory.alerts.notifying.errors import SendError, scrub
from observatory.alerts.notifying.message import Message
from observatory.alerts.notifying.receiver_addresses import check_host
from observatory.clusters.addresses.public_urls import url_in_message

TIMEOUT = 30.0
"""seconds, for all requests of one message"""
MAX_LISTED = 20
"""alerts of one message; further ones are counted"""
TEMPLATES = {True: "alerts/message.html", False: "alerts/message.txt"}
"""by whether it is an e-mail"""
MENTION = re.compile(r"(?<=@)(?=[\w!&])|(?<=<)(?=[!@#&:]|\w+:)")
"""where @everyone, <!channel>, <@id> and <url|text> are broken by a space without width"""
MARKUP = re.compile(r"([\\`*_~|\[\]<>#])")
LINK = re.compile(r"https?://\S+\Z")
MAX_FORMS = 3
"""forms of a service's address that an error message shows"""
REASON = "Socket Exception: "
"""start of the line in Apprise's debug log that has the reason of a failure"""
KINDS = {
    Severity.INFO.value: apprise.NotifyType.INFO,
    Severity.WARNING.value: apprise.NotifyType.WARNING,
    Severity.CRITICAL.value: apprise.NotifyType.FAILURE,
}


class Apprise(ChannelKind):
    name = "Apprise"
    label = "Slack, e-mail, Teams, PagerDuty … (Apprise URL)"
    examples = "slack://TokenA/TokenB/TokenC/#channel, mailto://user:password@example.org?to=team@example.org"

    def clean_address(self, text: str) -> str:
        scheme, separator, _ = text.partition("://")
        scheme = scheme.lower()
        if not separator:
            raise ValidationError(f"The address has no scheme. Examples: {self.examples}.")
        if names := refused_parameters(text):
            raise ValidationError(f"The parameter “{names[0][:30]}” isn't supported in an address.")
        if (service := service_of(text)) is not None:
            if is_known(scheme_of(service)):
                return text
            raise ValidationError(f"The service {service.service_name} isn't supported.")
        if scheme in ("http", "https"):
            raise ValidationError(
                "Apprise knows no service with this address. If it is a webhook, choose that kind. "
                f"Addresses of services look like {self.examples}."
            )
        known = NotificationManager()
        if scheme not in known:
            raise ValidationError(f"Apprise doesn't know “{scheme[:30]}://”. Examples: {self.examples}.")
        service = known[scheme]
        forms = [form.replace("{schema}", scheme) for form in service.templates[:MAX_FORMS]]
        raise ValidationError(
            f"This address of {service.service_name} is incomplete. It looks like {' or '.join(forms)}; "
            f"see {service.setup_url}."
        )

    def host_of(self, address: str) -> str | None:
        service = service_of(address)
        return None if service is None else host_of_service(service)

    def send(self, address: str, message: Message, at: datetime) -> None:
        service = service_of(address)
        if service is None:
            raise SendError("Apprise can't read the address. Enter it again.")
        scheme = scheme_of(service)
        if refused_parameters(address) or not is_known(scheme):
            raise SendError("The service or a parameter of the address isn't supported. Enter it again.")
        if (host := host_of_service(service)) is not None:
            check_host(host)
        is_mail = isinstance(service, NotifyEmail)
        client = apprise.Apprise(asset=service.asset)
        client.add(service)
        is_markdown = scheme in MARKDOWN or service.notify_format == apprise.NotifyFormat.MARKDOWN
        title, body = message.title, render_to_string(TEMPLATES[is_mail], _context(message)).strip()
        if not is_mail:
            title, body = (plain_text(text, is_markdown) for text in (title, body))
        result = client.notify(
            title=title,
            body=body,
            body_format=apprise.NotifyFormat.HTML if is_mail else apprise.NotifyFormat.TEXT,
            notify_type=_notify_type(message),
            timeout=TIMEOUT,
            log_level=DEBUG,
        )
        if not result:
            raise SendError(scrub(f"{service.service_name}: {_reason(result)}", address))


CHANNEL = Apprise()


def service_of(address: str) -> apprise.NotifyBase | None:
    """None for an address that Apprise can't read."""
    asset = apprise.AppriseAsset(
        app_id="Dask Observatory",
        app_desc="Dask Observatory",
        app_url=settings.PUBLIC_URL,
        image_url_mask="",  # otherwise messages load pictures from Apprise's site
        image_url_logo="",
        http_redirects=False,
        storage_mode=apprise.PersistentStoreMode.MEMORY,
    )
    service = apprise.Apprise.instantiate(address, asset=asset, suppress_exceptions=True)
    if isinstance(service, apprise.NotifyBase):
        if "overflow=" not in address and not isinstance(service, NotifyEmail):
            service.overflow_mode = apprise.OverflowMode.TRUNCATE
        return service
    return None


def plain_text(text: str, is_markdown: bool) -> str:
    """`text` without mentions, and with its Markdown escaped unless a line is an address."""
    lines = MENTION.sub("\u200b", text).split("\n")
    if is_markdown:
        lines = [line if LINK.match(line) else MARKUP.sub(r"\\\1", line) for line in lines]
    return "\n".join(lines)


def _context(message: Message) -> dict[str, Any]:
    return {
        "items": message.items[:MAX_LISTED],
        "several": len(message.items) > 1,
        "more": max(0, len(message.items) - MAX_LISTED),
        "url": url_in_message(reverse("alerts")),
    }


def _notify_type(message: Message) -> apprise.NotifyType:
    """From the severity of the first firing item, which is the most severe."""
    firing = message.firing
    return KINDS[firing[0].severity] if firing else apprise.NotifyType.SUCCESS


def _reason(result: apprise.AppriseResult) -> str:
    problems = (entry.message for entry in result.logs() if entry.level not in ("DEBUG", "INFO", "TRACE"))
    reasons = (entry.message for entry in result.logs() if entry.message.startswith(REASON))
    lines = [*problems, *(text.removeprefix(REASON) for text in reasons)]
    return " ".join(dict.fromkeys(lines)) or f"no reason given; the limit is {TIMEOUT:.0f} s."
