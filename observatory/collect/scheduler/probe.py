"""Asks an address whether it is a Dask scheduler's, before it becomes a target."""

from __future__ import annotations

import asyncio
import logging
import time

from observatory.collect.http.addresses import AddressError, target_url
from observatory.collect.http.fetch import IDENTITY_LIMIT, FetchError, HttpClient
from observatory.collect.scheduler.identity import (
    Identity,
    IdentityError,
    Problems,
    read_counts,
    read_identity,
)
from observatory.collect.scheduler.workers_page import read_workers_page

logger = logging.getLogger(__name__)

NO_SCHEDULER = (
    "No Dask scheduler answers at {url}. Enter the address of the scheduler's dashboard without a path, "
    "as in http://host:8787, and check that this server can reach it."
)


class ProbeError(Exception):
    """An address that can't be observed.

    The message is the same whatever answers there, so that nobody can scan a network with it; what was wrong
    is in the log.
    """


async def probe(url: str) -> Identity:
    """The identity of the scheduler at `url`; its id is "" when a busy one can't say it (workers_page).

    Raises ProbeError when it can't be reached or is no Dask scheduler's.
    """
    try:
        target = target_url(url)
        async with HttpClient() as client:
            client.trust(target)
            return await ask_identity(client, target, Problems(target))
    except AddressError as error:
        raise ProbeError(str(error)) from None
    except (FetchError, IdentityError) as error:
        logger.info("%s is no target: %s", url[:200], error)
        raise ProbeError(NO_SCHEDULER.format(url=url[:200])) from None


def probe_target(url: str) -> Identity:
    """As probe(), for code that isn't asynchronous."""
    return asyncio.run(probe(url))


async def ask_identity(client: HttpClient, target: str, problems: Problems) -> Identity:
    """The scheduler's identity, or what its page of workers tells while that fails.

    Raises FetchError or IdentityError.
    """
    try:
        _, page = await client.get_json(f"{target}/json/identity.json", IDENTITY_LIMIT)
        return read_identity(page, problems)
    except FetchError as error:
        if error.status == 404:
            raise IdentityError(
                "it is no Dask scheduler (a worker?): nothing is at /json/identity.json. Give the address "
                "of the scheduler's dashboard, without a path, as in http://host:8787"
            ) from None
        if error.status != 500:
            raise
    await ask_counts(client, target)
    answer = await client.get(f"{target}/info/main/workers.html", IDENTITY_LIMIT)
    return read_workers_page(answer.body, time.time(), problems)


async def ask_counts(client: HttpClient, target: str) -> None:
    """Raises IdentityError unless the target counts tasks as a scheduler does."""
    _, page = await client.get_json(f"{target}/json/counts.json", IDENTITY_LIMIT)
    read_counts(page)
