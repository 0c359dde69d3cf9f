"""Reports errors to Sentry, without personal data, tokens and values of variables."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import sentry_sdk
from sentry_sdk.integrations.atexit import AtexitIntegration
from sentry_sdk.integrations.celery import CeleryIntegration
from sentry_sdk.integrations.dedupe import DedupeIntegration
from sentry_sdk.integrations.django import DjangoIntegration
from sentry_sdk.integrations.excepthook import ExcepthookIntegration
from sentry_sdk.integrations.logging import LoggingIntegration, ignore_logger
from sentry_sdk.integrations.threading import ThreadingIntegration

from observatory import __version__
from observatory.config.logging.format import without_secrets

FIELDS = {
    *("event_id", "timestamp", "platform", "sdk", "release", "environment"),
    *("level", "logger", "logentry", "message", "exception", "threads", "transaction", "request"),
}
"""of an event that are sent. Among the others are users, machines, arguments of tasks and steps before"""
PERSONAL = (
    re.compile(r"(?<=://)[^\s/@]+(?=@)"),  # user:password of an address
    re.compile(r"[\w.+-]+@(?:[\w-]+\.)+[a-z]{2,}", re.IGNORECASE),
    re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"),
)


def start(dsn: str, environment: str) -> None:
    """Report this process's errors: log lines of level ERROR, failed requests and tasks, its last exception.

    Raises ValueError for an unusable DSN.
    """
    ignore_logger("django.security.DisallowedHost")  # anybody can send another name of a host
    sentry_sdk.init(
        dsn,
        environment=environment,
        release=f"dask-observatory@{__version__}",
        # no integrations that would be found by what is installed, or that read the command line
        default_integrations=False,
        auto_enabling_integrations=False,
        integrations=[
            AtexitIntegration(callback=lambda pending, timeout: None),
            CeleryIntegration(),
            DedupeIntegration(),
            DjangoIntegration(middleware_spans=False, signals_spans=False),
            ExcepthookIntegration(),
            LoggingIntegration(),
            ThreadingIntegration(),
        ],
        max_breadcrumbs=0,
        include_local_variables=False,
        max_request_body_size="never",
        auto_session_tracking=False,
        enable_backpressure_handling=False,  # a thread of its own
        before_send=_without_private_data,
    )


def _without_private_data(event: Any, hint: dict[str, Any]) -> Any:
    """Sentry's hook for each event."""
    sent = {name: value for name, value in event.items() if name in FIELDS}
    if "request" in sent:
        sent["request"] = _described(sent["request"])
    return _scrubbed(sent)


def _described(request: dict[str, Any]) -> dict[str, str]:
    """A request's method and path: without host, query, headers, cookies and body."""
    return {"method": str(request.get("method", "")), "url": urlsplit(str(request.get("url", ""))).path}


def _scrubbed(value: Any) -> Any:
    """The value with all of its texts scrubbed."""
    if isinstance(value, str):
        text = without_secrets(value)
        for pattern in PERSONAL:
            text = pattern.sub("…", text)
        return text
    if isinstance(value, dict):
        return {name: _scrubbed(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_scrubbed(item) for item in value]
    return value
