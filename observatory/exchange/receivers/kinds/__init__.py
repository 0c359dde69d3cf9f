"""The kinds of receivers of runs, one module each: its `RECEIVER` says how a receiver of that kind works.

To add a kind, add a module here. Form, address checks, delivery and retries use it by the module's name.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from observatory.exchange.receivers.receiver_kind import ReceiverKind

LABELS = {"otlp": "OpenTelemetry (OTLP over HTTP)", "sentry": "Sentry or GlitchTip"}
"""by module, as lists and the form show them; the kinds themselves import large libraries"""
DEFAULT = "otlp"


@cache
def receiver_kind(name: str) -> ReceiverKind:
    kind: ReceiverKind = import_module(f"{__name__}.{name}").RECEIVER
    return kind
