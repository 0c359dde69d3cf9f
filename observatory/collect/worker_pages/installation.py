"""Puts the relay of worker pages in front of the site, where it is on."""

from __future__ import annotations

from typing import Any

from django.conf import settings


def with_worker_pages(pages: Any, sockets: Any) -> tuple[Any, Any]:
    """The ASGI applications for HTTP and WebSockets; with the relay if OBSERVATORY_WORKER_PAGES is set."""
    if not settings.WORKER_PAGES:
        return pages, sockets
    from observatory.collect.worker_pages.limits import Limits
    from observatory.collect.worker_pages.relay import WorkerPages
    from observatory.collect.worker_pages.socket_relay import WorkerSockets

    limits = Limits()
    return WorkerPages(pages, limits), WorkerSockets(sockets, limits)
