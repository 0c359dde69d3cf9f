"""The client's address comes from X-Forwarded-For where a trusted proxy sent it, and from nobody else."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from observatory.base.environment import networks
from observatory.config import asgi


async def client_seen(proxies: list[str], peer: str, forwarded: str, settings: Any) -> str:
    settings.TRUSTED_PROXIES = proxies
    try:
        middleware = importlib.reload(asgi).application.application_mapping["http"]
    finally:
        settings.TRUSTED_PROXIES = []
        importlib.reload(asgi)
    seen: list[dict[str, Any]] = []

    async def inner(scope: dict[str, Any], *_: Any) -> None:
        seen.append(scope)

    middleware.app = inner
    headers = [(b"x-forwarded-for", forwarded.encode()), (b"x-forwarded-proto", b"https")]
    scope = {"type": "http", "scheme": "http", "client": (peer, 1234), "headers": headers}
    await middleware(scope, None, None)
    return f"{seen[0]['scheme']} {seen[0]['client'][0]}"


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "seen"),
    [
        ([], "127.0.0.1", "203.0.113.7", "http 127.0.0.1"),
        (["127.0.0.1"], "127.0.0.1", "203.0.113.7", "https 203.0.113.7"),
        (["10.0.0.0/8"], "10.1.2.3", "198.51.100.1, 203.0.113.7, 10.9.9.9", "https 203.0.113.7"),
        (["10.0.0.0/8"], "192.0.2.1", "203.0.113.7", "http 192.0.2.1"),
    ],
)
async def test_the_client_is_the_last_address_that_no_trusted_proxy_has(
    proxies: list[str], peer: str, forwarded: str, seen: str, settings: Any
) -> None:
    assert await client_seen(proxies, peer, forwarded, settings) == seen


def test_what_is_no_network_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_TRUSTED_PROXIES", "10.0.0.0/8, proxy.internal")
    with pytest.raises(ImproperlyConfigured, match=r"OBSERVATORY_TRUSTED_PROXIES.*proxy.internal"):
        networks("OBSERVATORY_TRUSTED_PROXIES")
