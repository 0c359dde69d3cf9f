"""JSON to an HTTP address: within a time, without redirects, and with little of the answer read."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import aiohttp

from observatory.alerts.notifying.errors import SendError, scrub

TIMEOUT = 10.0
"""seconds, from the look-up of the name to the answer"""
READ = 500
"""bytes of an answer that is no success, which may say why"""


def post(address: str, body: Any, headers: dict[str, str]) -> None:
    """Raises SendError, unless the answer is a success."""
    asyncio.run(_post(address, body, headers))


async def _post(address: str, body: Any, headers: dict[str, str]) -> None:
    timeout = aiohttp.ClientTimeout(total=TIMEOUT)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(address, json=body, headers=headers, allow_redirects=False) as response,
        ):
            if 300 <= response.status < 400:
                raise SendError(
                    f"It answered {response.status}, a redirect, which isn't followed: enter where it leads."
                )
            if not response.ok:
                said = (await response.content.read(READ)).decode(errors="replace")
                raise SendError(scrub(f"It answered {response.status}: {said or response.reason}", address))
    except TimeoutError:
        raise SendError(f"It didn't answer within {TIMEOUT:.0f} s.") from None
    except aiohttp.ClientConnectorError as error:
        raise SendError(scrub(f"It can't be reached: {_why(error)}.", address)) from None
    except (aiohttp.ClientError, ValueError, OSError) as error:
        raise SendError(scrub(f"The connection failed: {type(error).__name__} {error}", address)) from None


def _why(error: aiohttp.ClientConnectorError) -> str:
    """asyncio's own words name the address; those of a name that isn't known have no positive number."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or "no connection"
