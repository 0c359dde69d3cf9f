"""Who a trusted proxy says the person is: read from its headers, and from nobody else's."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any

from observatory.clusters.accounts.proxy_sign_in import SCOPE, ProxyUser
from observatory.config.http.body_limit import Application, Receive, Send

LONGEST_GROUP = 200


class SignInHeaders:
    """ASGI middleware outside of all others: they replace the proxy's address by the client's."""

    def __init__(self, application: Application, proxies: Sequence[str], name: str, groups: str) -> None:
        """`name` and `groups` are the names of headers; `groups` can be empty."""
        self.application = application
        self.proxies = [ipaddress.ip_network(proxy) for proxy in proxies]
        self.name = name.lower().encode()
        self.groups = groups.lower().encode()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        sent = self._person(scope) if self._is_trusted(scope.get("client")) else None
        await self.application({**scope, SCOPE: sent}, receive, send)

    def _is_trusted(self, client: Sequence[Any] | None) -> bool:
        try:
            address = ipaddress.ip_address(client[0] if client else "")
        except ValueError:
            return False
        return any(address in network for network in self.proxies)

    def _person(self, scope: dict[str, Any]) -> ProxyUser | None:
        """None without the header, and where it is there twice: one of them may be the client's."""
        names = self._values(scope, self.name)
        if len(names) != 1 or not names[0]:
            return None
        if not self.groups:
            return ProxyUser(names[0], None)
        groups = (group.strip() for group in ",".join(self._values(scope, self.groups)).split(","))
        return ProxyUser(
            names[0], tuple(sorted({group for group in groups if 0 < len(group) <= LONGEST_GROUP}))
        )

    def _values(self, scope: dict[str, Any], wanted: bytes) -> list[str]:
        return [
            value.decode("utf-8", "replace").strip() for name, value in scope["headers"] if name == wanted
        ]
