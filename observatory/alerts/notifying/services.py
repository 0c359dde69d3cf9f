"""What Apprise speaks: chats, e-mail, pagers and a hundred more, each by an address of its own."""

from __future__ import annotations

from logging import DEBUG
from typing import Any

import apprise
from apprise.plugins.email import NotifyEmail
from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse

from observatory.alerts.models import Severity
from observatory.alerts.notifying.errors import SendError, scrub
from observatory.alerts.notifying.message import Message

TIMEOUT = 30.0
"""seconds, for all that an address stands for"""
MOST_LISTED = 20
"""alerts of one message; the others are counted"""
REASON = "Socket Exception: "
"""begins the one line of Apprise's DEBUG that tells why"""
KINDS = {
    Severity.INFO.value: apprise.NotifyType.INFO,
    Severity.WARNING.value: apprise.NotifyType.WARNING,
    Severity.CRITICAL.value: apprise.NotifyType.FAILURE,
}


def service_of(address: str) -> apprise.NotifyBase | None:
    """None for what Apprise can't read."""
    asset = apprise.AppriseAsset(
        app_id="Dask Observatory",
        app_desc="Dask Observatory",
        app_url=settings.PUBLIC_URL,
        image_url_mask="",  # else messages show Apprise's pictures, from its own site
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


def mask_address(address: str) -> str:
    """An address as it may be shown: slack://…"""
    return f"{address.partition('://')[0][:20]}://…"


def notify(address: str, message: Message) -> None:
    """Raises SendError."""
    service = service_of(address)
    if service is None:
        raise SendError("Apprise can't read the address: enter it again.")
    is_mail = isinstance(service, NotifyEmail)
    everybody = apprise.Apprise(asset=service.asset)
    everybody.add(service)
    result = everybody.notify(
        title=message.title,
        body=render_to_string(f"alerts/message.{'html' if is_mail else 'txt'}", _context(message)).strip(),
        body_format=apprise.NotifyFormat.HTML if is_mail else apprise.NotifyFormat.TEXT,
        notify_type=_kind(message),
        timeout=TIMEOUT,
        log_level=DEBUG,
    )
    if not result:
        raise SendError(scrub(f"{service.service_name}: {_reason(result)}", address))


def _context(message: Message) -> dict[str, Any]:
    return {
        "items": message.items[:MOST_LISTED],
        "several": len(message.items) > 1,
        "more": max(0, len(message.items) - MOST_LISTED),
        "url": f"{settings.PUBLIC_URL}{reverse('clusters')}",
    }


def _kind(message: Message) -> apprise.NotifyType:
    """The first one's that fires, for it is the most severe."""
    firing = message.firing
    return KINDS[firing[0].severity] if firing else apprise.NotifyType.SUCCESS


def _reason(result: apprise.AppriseResult) -> str:
    told = (entry for entry in result.logs() if entry.level not in ("DEBUG", "INFO", "TRACE"))
    why = (entry.message for entry in result.logs() if entry.message.startswith(REASON))
    lines = [*(entry.message for entry in told), *(text.removeprefix(REASON) for text in why)]
    return " ".join(dict.fromkeys(lines)) or f"it took over {TIMEOUT:.0f} s, or failed without a reason."
