"""The ASGI application: Django for HTTP, Channels for sockets."""

from __future__ import annotations

import os
import warnings

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
http = get_asgi_application()
# whitenoise's files: Django reads each in a thread and sends it as a whole, which is what we want
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

from observatory.collect.body import COMPRESSED  # noqa: E402  (needs the apps loaded)
from observatory.config.body_limit import BodyLimit  # noqa: E402
from observatory.replay.routing import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": BodyLimit(http, COMPRESSED),
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
