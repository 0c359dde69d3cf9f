"""Where notebooks find Observatory: the environment, else Dask's configuration."""

from __future__ import annotations

import os
from dataclasses import dataclass

import dask

from observatory.client.connection import TIMEOUT, TOKEN, URL, Connection

VARIABLES = {"url": URL, "access-token": TOKEN}


@dataclass(frozen=True)
class Settings:
    """Empty texts: not set."""

    url: str
    access_token: str

    def connection(self, timeout: float = TIMEOUT) -> Connection | None:
        """None: something is missing or invalid. What an agent tells is no address to send a token to."""
        if not self.url or not self.access_token:
            return None
        try:
            return Connection(self.url, self.access_token, timeout)
        except ValueError:
            return None


def read_settings() -> Settings:
    return Settings(_setting("url"), _setting("access-token"))


def _setting(name: str) -> str:
    found = os.environ.get(VARIABLES[name]) or dask.config.get(f"observatory.{name}", "")
    return found.strip().rstrip("/") if isinstance(found, str) else ""
