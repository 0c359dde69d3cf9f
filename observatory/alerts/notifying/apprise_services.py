"""Apprise's services that channels may use, and the parameters that their addresses may have.

Others read local files, speak to devices of the server, look up other servers to send to, or let the address
choose the method and headers of a request.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

import apprise
from apprise.plugins.email import NotifyEmail


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SEPARATORS = re.compile(r"[?&;]")
"""between parameters, as Apprise reads them: after the first question mark, also behind a #"""

FIXED = _words(
    """
    azure betterstack brevo dingtalk discord feishu firehydrant flock gchat guilded ifttt ilert
    incidentio lark line mailersend mailgun msgbird nexmo o365 opsgenie pagerduty pagertree pbul
    plivo postmark pover pushed resend ringc ryver sendgrid ses signl4 slack smtp2go sns sparkpost
    spike splunk squadcast telesign telnyx tgram threema twilio twist victorops vonage webex
    whatsapp wxteams zcliq
    """
)
"""schemes of services with servers of their own"""
WITH_HOST = _words(
    """
    goalert goalerts gotify gotifys json jsons mailto mailtos mmost mmosts nctalk nctalks ntfy ntfys
    rocket rockets signal signals synology synologys workflow workflows zulip
    """
)
"""schemes of services whose address names the host"""
MARKDOWN = _words(
    """
    discord guilded mmost mmosts rocket rockets webex workflow workflows wxteams zulip
    """
)
"""schemes of services that render Markdown whatever the format of a message"""
PARAMETERS = _words(
    """
    access_token api-version avatar bcc cc channel channels cto details footer format from image key
    mode name overflow pass priority region reply rto severity sig smtp sound sp sv tags thread
    threadkey title to token topic user ver verify
    """
)


def scheme_of(service: apprise.NotifyBase) -> str:
    return str(service.url()).partition("://")[0].lower()


def is_known(scheme: str) -> bool:
    return scheme in FIXED | WITH_HOST


def refused_parameters(address: str) -> list[str]:
    """Parameters of an address that channels must not have."""
    parts = SEPARATORS.split(address)[1:]
    names = {unquote(part.partition("=")[0]) for part in parts if part}
    return sorted(name for name in names if name.lower() not in PARAMETERS)


def host_of_service(service: apprise.NotifyBase) -> str | None:
    """The host of the service's server; None for a service with servers of its own."""
    if isinstance(service, NotifyEmail):
        return str(service.smtp_host or service.host)
    if scheme_of(service) in FIXED:
        return None
    return str(service.host).strip("[]")
