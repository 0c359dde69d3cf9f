"""The ASGI application: Django for HTTP, Channels for sockets."""

from __future__ import annotations

import os
from typing import Any

import django
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.conf import settings
from django.urls import get_resolver
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
django.setup(set_prefix=False)

from observatory.base.memory import prepare_for_hours  # noqa: E402
from observatory.collect.agents.body import COMPRESSED  # noqa: E402  (needs the apps loaded)
from observatory.collect.worker_pages.installation import with_worker_pages  # noqa: E402
from observatory.config.http.assistants import Assistants  # noqa: E402
from observatory.config.http.body_limit import BodyLimit  # noqa: E402
from observatory.config.http.handler import OneThreadHandler  # noqa: E402
from observatory.config.http.sign_in_headers import SignInHeaders  # noqa: E402
from observatory.config.http.small_batches import SmallBatches  # noqa: E402
from observatory.config.http.static_files import StaticFiles  # noqa: E402
from observatory.config.http.sub_path import with_sub_path, without_sub_path  # noqa: E402
from observatory.config.http.uploads import imports  # noqa: E402
from observatory.replay.live.routing import websocket_urlpatterns  # noqa: E402
from observatory.runtime.health.own_alert import lifespan  # noqa: E402
from observatory.store.connection import limit_statements  # noqa: E402

django_pages = with_sub_path(OneThreadHandler(), settings.SUB_PATH)
handler = BodyLimit(SmallBatches(django_pages), COMPRESSED, imports())
pages = StaticFiles(Assistants(handler))
sockets = AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))
pages, sockets = with_worker_pages(pages, sockets)


def with_sign_in(answering: Any) -> Any:
    """With the headers of proxies that sign people in, if there are any."""
    if not settings.SIGN_IN_HEADER:
        return answering
    return SignInHeaders(answering, settings.TRUSTED_PROXIES, settings.SIGN_IN_HEADER, settings.GROUPS_HEADER)


application = ProtocolTypeRouter(
    {
        "http": with_sign_in(
            ProxyHeadersMiddleware(
                without_sub_path(pages, settings.SUB_PATH),  # type: ignore[arg-type]
                settings.TRUSTED_PROXIES,
            )
        ),
        "lifespan": lifespan,
        "websocket": with_sign_in(without_sub_path(sockets, settings.SUB_PATH)),
    }
)

get_resolver().url_patterns  # noqa: B018  (loads the pages, which the first request would do)
limit_statements()
prepare_for_hours()
