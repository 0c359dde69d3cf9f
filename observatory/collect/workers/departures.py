"""Asks the scheduler's log why workers left, each time that some did."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from observatory.collect.collector.clusters.observation import Observation
from observatory.collect.collector.clusters.rest import Rest
from observatory.collect.http.fetch import FetchError, HttpClient, parse_off_loop
from observatory.collect.workers.scheduler_log import Removals, read_scheduler_log

logger = logging.getLogger(__name__)

CHECK = 0.25
"""Seconds between two looks whether workers left."""
CHECK_AT_REST = 5.0
"""The same at rest, which ends when a worker leaves."""
SHARE = 20
"""Least pause after a request, as a multiple of its time: the scheduler's event loop writes the page."""
LOG_LIMIT = 4 * 2**20
"""Bytes of the page that are read. Its newest lines come first."""


class DepartureReader:
    """Reads the log of one target's scheduler, for the observation that `current` returns."""

    def __init__(
        self,
        target: str,
        client: HttpClient,
        current: Callable[[], Observation | None],
        observing: asyncio.Event,
        rest: Rest,
    ) -> None:
        self.rest = rest
        self.url = f"{target}/info/main/logs.html"
        self.client = client
        self.current = current
        self.observing = observing
        """Set while there is an observation."""

    async def run(self) -> None:
        while True:
            await self.observing.wait()
            await self.rest.tick(CHECK, CHECK_AT_REST)
            observation = self.current()
            if observation is not None and observation.membership.has_unexplained:
                started = time.monotonic()
                await self._explain(observation)
                await asyncio.sleep(SHARE * (time.monotonic() - started))

    async def _explain(self, observation: Observation) -> None:
        requested = time.monotonic()
        try:
            answer = await self.client.get(self.url, LOG_LIMIT, is_cut=True)
        except FetchError as error:
            if not error.status:
                return  # it is asked again, unless the cluster has ended
            logger.debug("%s: %s", self.url, error)
            removals: Removals = {}
        else:
            removals = await parse_off_loop(read_scheduler_log, answer.body)
        if self.current() is observation:
            observation.membership.explain(removals, requested)
