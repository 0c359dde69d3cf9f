"""URLs of the WebSockets."""

from __future__ import annotations

from django.urls import path

from observatory.replay.live.consumers import LiveConsumer

websocket_urlpatterns = [path("ws/clusters/<int:cluster_id>/live", LiveConsumer.as_asgi())]
