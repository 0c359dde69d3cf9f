"""The REST API as tools read it, wherever the server is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Protocol

LARGE = 100_000
"""bytes of an answer that is parsed in a thread: others wait for the event loop"""


class ApiError(Exception):
    """A request or an argument that has no answer: the message says why."""


class Api(Protocol):
    """Reads below /api/v1 with the access token of one person."""

    url: str
    """of the site, without a slash at its end: links begin with it"""

    async def get(self, path: str, parameters: Mapping[str, Any]) -> bytes:
        """The body of an answer. Parameters that are None aren't sent. Raises ApiError."""


async def read(api: Api, path: str, **parameters: Any) -> Any:
    """An answer in JSON. Raises ApiError."""
    body = await api.get(path, parameters)
    return await asyncio.to_thread(json.loads, body) if len(body) > LARGE else json.loads(body)
