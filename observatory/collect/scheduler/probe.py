"""Checks that an address is that of a Dask scheduler, before it becomes a target."""

from __future__ import annotations

import asyncio
import logging
import time

from observatory.collect.credentials.credentials import Credentials
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

NONE = Credentials()
NO_SCHEDULER = (
    "No Dask scheduler answers at {url}. Enter the address of the scheduler's dashboard without a path "
    "other than its --dashboard-prefix, as in http://host:8787, and check that this server can reach it "
    "and that the credentials are right."
)


class ProbeError(Exception):
    """An address that cannot be observed.

    The message is shown to users and is always the same, so that the form cannot be used to scan a network.
    The reason is logged.
    """


async def probe(url: str, credentials: Credentials = NONE) -> Identity:
    """The identity of the scheduler at `url`; its id is "" when identity.json fails (workers_page.py).

    Raises ProbeError when the address cannot be reached or is not that of a Dask scheduler.
    """
    try:
        target = target_url(url)
        async with HttpClient() as client:
            client.trust(target)
            return await fetch_identity(client.with_credentials(credentials), target, Problems(target))
    except AddressError as error:
        raise ProbeError(str(error)) from None
    except (FetchError, IdentityError) as error:
        logger.info("%s is no target: %s", url[:200], error)
        raise ProbeError(NO_SCHEDULER.format(url=url[:200])) from None


def probe_target(url: str, credentials: Credentials = NONE) -> Identity:
    """probe() for synchronous code."""
    return asyncio.run(probe(url, credentials))


async def fetch_identity(client: HttpClient, target: str, problems: Problems) -> Identity:
    """The scheduler's identity from identity.json, or from the workers page while identity.json fails.

    Raises FetchError or IdentityError.
    """
    try:
        _, page = await client.get_json(f"{target}/json/identity.json", IDENTITY_LIMIT)
        return read_identity(page, problems)
    except FetchError as error:
        if error.status == 404:
            raise IdentityError(
                "it is not a Dask scheduler (a worker?): it has no /json/identity.json. Use the address "
                "of the scheduler's dashboard, without a path, as in http://host:8787"
            ) from None
        if error.status != 500:
            raise
    await check_counts(client, target)
    answer = await client.get(f"{target}/info/main/workers.html", IDENTITY_LIMIT)
    return read_workers_page(answer.body, time.time(), problems)


async def check_counts(client: HttpClient, target: str) -> None:
    """Raises IdentityError unless the target has a scheduler's counts.json."""
    _, page = await client.get_json(f"{target}/json/counts.json", IDENTITY_LIMIT)
    read_counts(page)
