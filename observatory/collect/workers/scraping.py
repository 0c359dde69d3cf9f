"""Scrapes /metrics of a target's scheduler and workers, each worker in its own asyncio task."""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from observatory.clusters.models import Target
from observatory.collect.collector.clusters.observation import Observation, totals_of
from observatory.collect.collector.clusters.rest import Rest
from observatory.collect.collector.counters import Counters
from observatory.collect.http.addresses import AddressError, proxied_worker_url, worker_url
from observatory.collect.http.exposition import ExpositionError, Page, Parser
from observatory.collect.http.fetch import METRICS_LIMIT, FetchError, HttpClient, parse_off_loop
from observatory.collect.http.turns import beginning, turn
from observatory.collect.scheduler.clock import SchedulerClock

logger = logging.getLogger(__name__)

LONGEST_WAIT = 60.0
"""Most seconds between two scrapes of a failing endpoint."""
FALLBACK_RATE = 200
"""Most scrapes a second that replace heartbeats, over all workers of a target."""
WORKERS_CHECK = 0.5
"""Seconds between two looks at the list of workers."""
WORKERS_CHECK_AT_REST = 5.0
"""The same at rest, which ends when a worker joins or leaves."""
WAKING = 1.0
"""Most seconds over which the workers' first scrapes after a rest are spread."""


def slowed(interval: float, factor: float) -> float:
    """The seconds between two requests that are made less often: after a minute all is as it was."""
    return max(interval, min(LONGEST_WAIT, interval * factor))


def largest_factor(interval: float) -> float:
    """By which an interval is slowed at most."""
    return max(1.0, LONGEST_WAIT / interval)


class Answers:
    """The answers of one /metrics, from one scrape to the next."""

    def __init__(self) -> None:
        self.failures = 0
        """since the last answer"""
        self.received: float | None = None
        """when the last one came, on the scheduler's clock"""

    def add(self, observation: Observation, worker: str, now: float) -> None:
        """Notes an answer, and adds an event if scrapes failed before it. `worker`: "" for the scheduler."""
        if self.failures and self.received is not None:
            observation.add_missing_metrics(worker, self.received, now)
        self.failures = 0
        self.received = now


class Scraper:
    """Scrapes one target, for the observation that `current` returns."""

    def __init__(
        self,
        target: Target,
        client: HttpClient,
        counters: Counters,
        slots: asyncio.Semaphore,
        clock: SchedulerClock,
        current: Callable[[], Observation | None],
        observing: asyncio.Event,
        is_confirmed: Callable[[], bool],
        slowdown: Callable[[], float],
        scheduler_slowdown: Callable[[], float],
        its_turn: Callable[[], Awaitable[None]],
        rest: Rest,
    ) -> None:
        self.target = target
        self.scheduler_client = client.for_scheduler(target.url)
        sends_credentials = target.workers in {Target.Workers.CREDENTIALS, Target.Workers.PROXY}
        # any worker could otherwise read the credentials: the scheduler tells where it is
        self.workers_client = client if sends_credentials else client.without_headers()
        self.prefixes = tuple(dict.fromkeys(("", urlsplit(target.url).path)))
        """Where workers may have /metrics: workers can have the scheduler's --dashboard-prefix."""
        self.counters = counters
        self.slots = slots
        self.clock = clock
        self.current = current
        self.observing = observing
        """Set while there is an observation."""
        self.is_confirmed = is_confirmed
        """Whether the scheduler that answers is known to be that of the observation."""
        self.slowdown = slowdown
        """The factor by which intervals of workers are longer now, beside the time that they wait in line."""
        self.its_turn = its_turn
        """Returns when a worker's metrics may be read."""
        self.scheduler_slowdown = scheduler_slowdown
        """The same for the scheduler's metrics, which say more."""
        self.rest = rest
        self.is_local = False
        """Whether the target runs on this machine."""
        self.wanted = asyncio.Event()
        """The scheduler's metrics are to be read at once."""
        self.read: Observation | None = None
        """Whose scheduler's metrics were read last."""
        self.logged: set[str] = set()
        """Errors that were logged."""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._scheduler())
            scraped: dict[str, asyncio.Task[None]] = {}
            leaving: set[str] = set()
            while True:
                observation = self.current()
                left = set(observation.membership.departures) if observation is not None else set()
                # suspicious tasks show why workers left; of another cluster's scheduler nothing is known
                if left - leaving or (observation is not None and self.read not in {None, observation}):
                    self.wanted.set()
                leaving = left
                members = observation.membership.members if observation is not None else {}
                for address in scraped.keys() - members.keys():
                    scraped.pop(address).cancel()
                for address in members.keys() - scraped.keys():
                    scraped[address] = tasks.create_task(self._worker(address))
                await self.rest.tick(WORKERS_CHECK, WORKERS_CHECK_AT_REST)
                if not scraped:
                    await self.observing.wait()

    def _wait(self, failures: int, spent: float, interval: float, slowdown: float) -> float:
        interval = slowed(interval, slowdown)
        backoff: float = min(max(LONGEST_WAIT, interval), interval * 2 ** min(failures, 10))
        return max(0.05, backoff * random.uniform(0.95, 1.05) - spent)

    def _longer(self, failures: int, interval: float, slowdown: float) -> float:
        """The seconds by which the wait is longer at rest."""
        if failures or not self.rest.is_now:
            return 0.0
        return max(0.0, self.rest.longer(interval) - slowed(interval, slowdown))

    async def _scheduler(self) -> None:
        answers = Answers()
        while True:
            await self.observing.wait()
            self.wanted.clear()  # what is wanted from now on is read after this page
            started = time.monotonic()
            observation = self.current()
            if observation is not None:
                if observation is not self.read:
                    answers, self.read = Answers(), observation
                await self._scrape_scheduler(observation, answers)
            interval, slowdown = self.target.metrics_interval, self.scheduler_slowdown()
            wait = self._wait(answers.failures, time.monotonic() - started, interval, slowdown)
            wait += self._longer(answers.failures, interval, slowdown)
            due = asyncio.get_running_loop().call_later(wait, self.wanted.set)
            try:
                await self.wanted.wait()
            finally:
                due.cancel()

    async def _scrape_scheduler(self, observation: Observation, answers: Answers) -> None:
        if observation.process_start is None:
            async with beginning(urlsplit(self.target.url).hostname or ""):
                await self._read_process_start(observation)
                requested = time.monotonic()
                page = await self._scheduler_page(observation)
        else:
            requested = time.monotonic()
            page = await self._scheduler_page(observation)
        if page is None:
            answers.failures += 1
        elif self.current() is observation and self.is_confirmed():
            now = self.clock.now()
            answers.add(observation, "", now)
            observation.add_scheduler_metrics(page, requested, now)

    async def _read_process_start(self, observation: Observation) -> None:
        """But for the process's own metrics, this page can be that of another scheduler in it."""
        page = await self._scheduler_page(observation)
        observation.process_start = totals_of(page).process_start if page is not None else None

    async def _scheduler_page(self, observation: Observation) -> Page | None:
        async with turn(observation.process_start):
            return await self._page(
                self.scheduler_client, f"{self.target.url}/metrics", observation.parser("")
            )

    async def _worker(self, address: str) -> None:
        await asyncio.sleep(random.uniform(0, min(1.0, self.target.metrics_interval)))
        answers = Answers()
        prefixes = itertools.cycle(self.prefixes)
        prefix = next(prefixes)
        stored = -math.inf
        while True:
            await self.its_turn()
            started = time.monotonic()
            observation = self.current()
            member = observation.membership.members.get(address) if observation is not None else None
            if observation is None or member is None:
                return
            if member.worker.port:
                url = self._worker_url(member.worker.host, member.worker.port, prefix)
                page = None
                if url is not None:
                    async with turn(observation.process_start_of(address)), self.slots:
                        page = await self._page(self.workers_client, url, observation.parser(address))
                if page is None:
                    answers.failures += 1
                    prefix = next(prefixes)
                elif self.current() is observation:
                    is_due = started - stored > 0.9 * self.target.metrics_interval
                    stored = started if is_due else stored
                    now = self.clock.now()
                    answers.add(observation, address, now)
                    observation.add_worker_metrics(address, page, now, is_due)
            interval = self._interval(observation, address, answers.failures)
            slowdown = self.slowdown()
            await asyncio.sleep(self._wait(answers.failures, time.monotonic() - started, interval, slowdown))
            longer = self._longer(answers.failures, interval, slowdown)
            if longer and await self.rest.sleep(longer):
                await asyncio.sleep(random.uniform(0, min(WAKING, interval)))

    def _interval(self, observation: Observation, address: str, failures: int) -> float:
        """Seconds between two scrapes of a worker: that of the heartbeats which they replace, if they do."""
        if failures or not observation.heartbeats.needs_metrics(address):
            return self.target.metrics_interval
        least = len(observation.membership.members) / FALLBACK_RATE
        return min(self.target.metrics_interval, max(observation.heartbeats.interval, least))

    def _worker_url(self, host: str, port: int, prefix: str) -> str | None:
        ways = Target.Workers
        scheme = "http" if self.target.workers == ways.HTTP else ""
        try:
            if self.target.workers == ways.PROXY:
                return f"{proxied_worker_url(self.target.url, host, port, prefix)}/metrics"
            return f"{worker_url(self.target.url, host, port, self.is_local, prefix, scheme)}/metrics"
        except AddressError as error:
            self._log_once(str(error))
            return None

    async def _page(self, client: HttpClient, url: str, parser: Parser) -> Page | None:
        """Scrapes a page; None when it fails."""
        self.counters.scrapes += 1
        try:
            answer = await client.get(url, METRICS_LIMIT)
            page: Page = await parse_off_loop(
                lambda body: parser.parse(body, answer.content_type), answer.body
            )
        except (FetchError, ExpositionError) as error:
            self.counters.scrape_failures += 1
            self._log_once(f"{url}: {error}")
            return None
        return page

    def _log_once(self, error: str) -> None:
        if error not in self.logged and len(self.logged) < 1000:
            self.logged.add(error)
            logger.warning("%s: %s", self.target.url, error)

    async def process_start(self) -> float | None:
        """When the scheduler's process started; None when /metrics does not say."""
        page = await self._page(self.scheduler_client, f"{self.target.url}/metrics", Parser(worker=""))
        return totals_of(page).process_start if page is not None else None
