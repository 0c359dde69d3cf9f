"""Asks discoveries for their lists, all at a time, each within a time limit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from observatory.clusters.models import Discovery
from observatory.collect.credentials.certificates import CertificateError
from observatory.collect.credentials.storage import CredentialsLost, unseal
from observatory.collect.discovery.kind import DiscoveryError, DiscoveryKind, Found, Question
from observatory.collect.discovery.kinds import discovery_kinds
from observatory.collect.http.fetch import FetchError, HttpClient

logger = logging.getLogger(__name__)

TIMEOUT = 30.0
"""Most seconds for a list, whatever the number of its pages."""
MOST_AT_A_TIME = 16
NO_ANSWER = (
    "No list of clusters arrived from this address. Check it, that this server can reach it, and the "
    "credentials. The log of Celery's worker has the reason."
)


@dataclass(frozen=True, slots=True)
class Answer:
    found: list[Found] = field(default_factory=list)
    is_on_this_machine: bool = False
    """Whether the found clusters may be, too."""
    error: str = ""
    """Why there is no list, as far as people may read it."""
    reason: str = ""
    """The same for administrators."""


def ask_all(discoveries: Iterable[Discovery]) -> list[tuple[Discovery, Answer]]:
    """The answers of the discoveries. Those that fail have an error."""
    return asyncio.run(_ask_all(list(discoveries)))


async def _ask_all(discoveries: list[Discovery]) -> list[tuple[Discovery, Answer]]:
    slots = asyncio.Semaphore(MOST_AT_A_TIME)

    async def ask_in_turn(discovery: Discovery) -> Answer:
        async with slots:
            return await ask(discovery)

    answers = await asyncio.gather(*map(ask_in_turn, discoveries))
    return list(zip(discoveries, answers, strict=True))


async def ask(discovery: Discovery) -> Answer:
    """The list of one discovery, or the error that people may read."""
    kind = discovery_kinds().get(discovery.kind)
    if kind is None:
        return failed(f"There is no kind of discovery {discovery.kind!r} in this version.")
    try:
        credentials = unseal(discovery.secret)
        async with asyncio.timeout(TIMEOUT), HttpClient() as client:
            client.trust(discovery.address)
            question = Question(discovery.address, discovery.namespace, credentials, client)
            found = await kind.find(question)
            return Answer(found, await asyncio.to_thread(kind.is_on_this_machine, discovery.address))
    except (CredentialsLost, CertificateError) as error:
        return failed(str(error))
    except TimeoutError:
        reason = f"The list did not arrive within {TIMEOUT:g} s."
    except (DiscoveryError, FetchError) as error:
        reason = f"The list cannot be had: {error}."
    logger.info("discovery %s, %s: %s", discovery.pk, discovery.address[:200], reason)
    return failed(reason, reason if _may_show(discovery, kind) else NO_ANSWER)


def failed(reason: str, shown: str = "") -> Answer:
    return Answer(error=shown or reason, reason=reason)


def _may_show(discovery: Discovery, kind: DiscoveryKind) -> bool:
    """Whether people may read why it failed. Until it answers they may not: it could scan a network."""
    return discovery.answered is not None or bool(kind.why_superuser(discovery.address))
