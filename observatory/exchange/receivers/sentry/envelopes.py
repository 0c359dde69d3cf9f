"""Posts events to Sentry. Its library makes the envelopes; they are posted as all that leaves the site is."""

from __future__ import annotations

import gzip
from typing import Any

import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.transport import Transport
from sentry_sdk.utils import BadDsn, Dsn

from observatory import __version__
from observatory.alerts.notifying.http_post import post_bytes

CLIENT = f"dask-observatory/{__version__}"


class Posting:
    """Posts events to the project of a DSN."""

    def __init__(self, dsn: str) -> None:
        auth = Dsn(dsn).to_auth(CLIENT)
        self._url = str(auth.get_api_url())
        self._headers = {
            "Content-Type": "application/x-sentry-envelope",
            "Content-Encoding": "gzip",
            "X-Sentry-Auth": auth.to_header(),
        }
        self._envelopes: list[Envelope] = []
        self._client = sentry_sdk.Client(
            dsn,
            transport=_keeping(self._envelopes),
            default_integrations=False,
            auto_enabling_integrations=False,
            auto_session_tracking=False,
            enable_backpressure_handling=False,  # a thread of its own
            include_local_variables=False,
            send_client_reports=False,
        )
        # by default those of this process, as if it had failed
        self._client.options |= {"release": None, "environment": None, "server_name": None}

    def post(self, event: dict[str, Any]) -> None:
        """Raises SendError."""
        self._envelopes.clear()
        self._client.capture_event(event, scope=sentry_sdk.Scope())  # type: ignore[arg-type]
        for envelope in self._envelopes:
            body = gzip.compress(envelope.serialize(), 5, mtime=0)
            post_bytes(self._url, body, self._headers)


def is_dsn(text: str) -> bool:
    try:
        Dsn(text)
    except BadDsn:
        return False
    return True


def _keeping(envelopes: list[Envelope]) -> type[Transport]:
    class Keeping(Transport):
        def capture_envelope(self, envelope: Envelope) -> None:
            envelopes.append(envelope)

    return Keeping
