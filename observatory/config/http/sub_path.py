"""A site below a path, as https://tools.example.org/dask/ is: settings.SUB_PATH is "/dask" there.

A proxy may pass the whole path on, or take the sub-path off. Our own ASGI layers see paths without it, Django
sees the whole path.
"""

from __future__ import annotations

from typing import Any

from observatory.config.http.body_limit import Application, Receive, Send


def without_sub_path(application: Application, sub_path: str) -> Application:
    """ASGI middleware: takes the sub-path off, where the proxy has not."""
    if not sub_path:
        return application

    async def shortened(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path == sub_path or path.startswith(f"{sub_path}/"):
            scope = {**scope, "path": path.removeprefix(sub_path) or "/"}
        await application(scope, receive, send)

    return shortened


def with_sub_path(application: Application, sub_path: str) -> Application:
    """ASGI middleware: the whole path, as browsers have it."""
    if not sub_path:
        return application

    async def whole(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        await application({**scope, "path": sub_path + scope["path"]}, receive, send)

    return whole
