"""The options of `up`."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from django.conf import settings

from observatory.runtime.errors import StartupError

ALL_ADDRESSES = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
"""addresses that stand for all of this machine's, and how this machine reaches itself there"""


@dataclass(frozen=True, slots=True)
class Options:
    host: str = "127.0.0.1"
    port: int = 8000
    demo: bool = False
    demo_once: bool = False
    verbose: bool = False

    @property
    def has_demo(self) -> bool:
        return self.demo or self.demo_once

    @property
    def local_host(self) -> str:
        """The host part of a URL by which this machine reaches the server."""
        return ALL_ADDRESSES.get(self.host) or (f"[{self.host}]" if ":" in self.host else self.host)

    @property
    def local_url(self) -> str:
        return f"http://{self.local_host}:{self.port}"

    @property
    def public_url(self) -> str:
        """The address for browsers: OBSERVATORY_PUBLIC_URL, otherwise this machine's."""
        return settings.PUBLIC_URL or self.local_url

    @property
    def allowed_hosts(self) -> set[str]:
        """Host names of requests that the web process accepts."""
        names = {socket.gethostname(), socket.getfqdn()} if self.host in ALL_ADDRESSES else set()
        return {*settings.ALLOWED_HOSTS, self.local_host, *names}

    def check_port(self) -> None:
        """Raises StartupError if the server cannot listen on the address."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind((self.host, self.port))
            except (OSError, OverflowError) as error:
                reason = getattr(error, "strerror", None) or error
                raise StartupError(
                    f"cannot listen on {self.host}:{self.port} ({reason}): "
                    "choose another address with --port or --host"
                ) from None
