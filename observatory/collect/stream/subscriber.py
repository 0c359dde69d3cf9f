"""Keeps a subscription to a target's event stream, and subscribes again when the stream was stolen."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable

from observatory.clusters.models import Target
from observatory.collect.collector.clusters.observation import Observation
from observatory.collect.collector.leases.claims import Claims
from observatory.collect.collector.load.ticks import until_tick
from observatory.collect.http.addresses import stream_url
from observatory.collect.http.fetch import FetchError, HttpClient
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.identity import Problems
from observatory.collect.stream.messages import read_message
from observatory.collect.stream.stolen_stream import YIELD, Displacements, yield_duration
from observatory.collect.stream.subscription import Subscription
from observatory.wire.event_kinds import CLIENT_REMOVED
from observatory.wire.records import Event

logger = logging.getLogger(__name__)

LISTEN_CHECK = 1.0
FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
CLAIM_WAIT = 5.0
SOON = 1.0
"""Seconds after which the first subscription of an observation is late."""
CONFIRMING = 6.0
"""Most seconds to wait for a poll that shows that the scheduler outlived the stream."""
RETURN = 2.0
"""Seconds from closing the socket of a stolen stream until it is subscribed again."""
TAKEN = {
    Target.Stream.STOLEN: "another subscriber, perhaps a second Observatory, took the event stream: "
    "tasks are missing until it is subscribed again",
    Target.Stream.YIELDED: "another subscriber, perhaps a second Observatory, took the event stream twice "
    "within ten minutes: tasks are missing for an hour, in which it is left to that subscriber",
}
"""what is recorded where a gap begins, by the state"""


class Subscriber:
    """Feeds the observation that `current` returns.

    Calls `poll` when the list of workers is out of date, `poll` and `scrape_scheduler` when a client left,
    and `closed` when the stream ended, because another scheduler may answer then.
    """

    def __init__(
        self,
        target: Target,
        client: HttpClient,
        claims: Claims,
        clock: SchedulerClock,
        problems: Problems,
        current: Callable[[], Observation | None],
        observing: asyncio.Event,
        is_confirmed: Callable[[], bool],
        answered: Callable[[], float],
        poll: Callable[[], None],
        scrape_scheduler: Callable[[], None],
        closed: Callable[[], None],
        announced: Callable[[], None],
    ) -> None:
        self.target = target
        self.subscription = Subscription(client, stream_url(target.url))
        self.claims = claims
        self.clock = clock
        self.problems = problems
        self.current = current
        self.observing = observing
        """Set while there is an observation."""
        self.is_confirmed = is_confirmed
        """Whether the scheduler that answers is known to be that of the observation."""
        self.answered = answered
        """When the scheduler last answered a poll (monotonic)."""
        self.poll = poll
        self.scrape_scheduler = scrape_scheduler
        self.closed = closed
        self.announced = announced
        """Called with each message."""
        self.displacements = Displacements()
        self.displaced_at = -math.inf
        """When another subscriber last took the stream of the current observation (monotonic)."""
        self.state = Target.Stream.UNKNOWN
        self.is_lost = False
        """Whether a gap in the stream was recorded that has not ended."""
        self.wait = FIRST_WAIT
        self.cluster_with_agent = 0
        """The cluster whose agent records everything that the stream has; it is not subscribed."""

    @property
    def shown_state(self) -> Target.Stream:
        """The state for people, whom a stream that was taken a while ago concerns, too."""
        if self.state is Target.Stream.RECEIVING and time.monotonic() - self.displaced_at < YIELD:
            return Target.Stream.CONTESTED
        return self.state

    async def run(self) -> None:
        followed: Observation | None = None
        while True:
            await self.observing.wait()
            observation = self.current()
            if observation is None or not self.is_confirmed():
                await asyncio.sleep(0.1)
                continue
            if observation is not followed:
                followed, self.is_lost, self.wait = observation, False, FIRST_WAIT
                self.displaced_at = -math.inf
            if observation.cluster.pk == self.cluster_with_agent:
                self.state = Target.Stream.UNKNOWN
                await asyncio.sleep(LISTEN_CHECK)
                continue
            if not await self.claims.hold(f"stream:{observation.cluster.scheduler_id}", self.target.pk):
                self.state = Target.Stream.STOLEN
                await asyncio.sleep(CLAIM_WAIT)
                continue
            await self._subscribe(observation)

    async def _subscribe(self, observation: Observation) -> None:
        """Holds one subscription until it ends, then waits."""
        listening = asyncio.ensure_future(
            self.subscription.listen(
                lambda: self._opened(observation), lambda text: self._receive(observation, text)
            )
        )
        try:
            while not listening.done():
                await self._until_changed(observation, listening)
                if not self._is_wanted(observation):
                    break
                if self._was_stolen(observation):
                    self._displaced(observation)
                    if self.state is Target.Stream.STOLEN or not await self._yield(observation):
                        break
        finally:
            listening.cancel()
            # close the old socket before a new one is opened (subscription.py)
            await asyncio.gather(listening, return_exceptions=True)
        was_taken = self.state in TAKEN
        if was_taken:
            self.displacements.resumed(time.monotonic())
        if not self._is_wanted(observation):
            return
        if was_taken:
            await asyncio.sleep(RETURN * random.uniform(0.75, 1.25))
        else:
            await self._closed(observation, listening)

    async def _until_changed(self, observation: Observation, listening: asyncio.Future[str]) -> None:
        """Waits until the subscription ended, is not wanted any more, or was taken.

        By a timer: to wait anew for each look is most of what a quiet cluster takes.
        """
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        next_look: asyncio.TimerHandle

        def look() -> None:
            nonlocal next_look
            next_look = loop.call_later(until_tick(LISTEN_CHECK), look)
            if not self._is_wanted(observation) or self._was_stolen(observation):
                changed.set()

        def ended(_: asyncio.Future[str]) -> None:
            changed.set()

        look()
        listening.add_done_callback(ended)
        try:
            await changed.wait()
        finally:
            next_look.cancel()
            listening.remove_done_callback(ended)

    def _is_wanted(self, observation: Observation) -> bool:
        return self.current() is observation and observation.cluster.pk != self.cluster_with_agent

    def _was_stolen(self, observation: Observation) -> bool:
        return self.state is Target.Stream.RECEIVING and observation.stolen_stream.is_stolen(time.monotonic())

    def _opened(self, observation: Observation) -> None:
        observation.stolen_stream.stream_opened(time.monotonic())
        if observation.beginning is not None:
            observation.beginning.stream_opened(self.clock.now())
        self.state = Target.Stream.RECEIVING
        self.wait = FIRST_WAIT
        self._end_gap(observation)
        if self.is_lost:
            self.is_lost = False
            observation.event("stream-resumed", self.clock.now(), "the event stream is received again")

    def _end_gap(self, observation: Observation) -> None:
        """Records that after a gap in the observation tasks are missing until the stream is received."""
        since, observation.stream_missing_since = observation.stream_missing_since, None
        if since is not None and self.clock.now() - since > SOON:
            self._record_loss(observation, since, "the event stream was not subscribed to yet")

    def _receive(self, observation: Observation, text: str) -> None:
        if observation is not self.current():
            return
        self.announced()
        records = read_message(text, self.clock.now(), self.problems)
        is_unknown = [observation.add_streamed(record) for record in records]
        if any(is_unknown):
            self.poll()
        if any(isinstance(record, Event) and record.kind == CLIENT_REMOVED for record in records):
            # scripts close the cluster next: what became of the last tasks is known only until then
            self.poll()
            self.scrape_scheduler()

    def _displaced(self, observation: Observation) -> None:
        """Another subscriber has the stream: records a gap, and decides whether it keeps the stream."""
        now = time.monotonic()
        self.displaced_at = now
        yields = self.displacements.must_yield(now)
        self.state = Target.Stream.YIELDED if yields else Target.Stream.STOLEN
        since = self.clock.now() - (now - observation.stolen_stream.received_until)
        self._record_loss(observation, since, TAKEN[self.state])
        logger.warning("%s: %s", self.target.url, TAKEN[self.state])

    async def _yield(self, observation: Observation) -> bool:
        """Leaves the stream to the other subscriber for an hour. True when it is this one's after all.

        The socket stays open: if it were closed, the scheduler would forget the other subscriber.
        """
        until = time.monotonic() + yield_duration()
        announced = observation.stolen_stream.message_at
        while time.monotonic() < until and self._is_wanted(observation):
            await asyncio.sleep(LISTEN_CHECK)
            if observation.stolen_stream.message_at > announced:
                self.displacements.resumed(time.monotonic())
                self._opened(observation)
                return True
        return False

    async def _closed(self, observation: Observation, listening: asyncio.Future[str]) -> None:
        """The stream ended or the handshake failed. Records a gap if the scheduler is still alive."""
        closed, now = time.monotonic(), self.clock.now()
        error = None if listening.cancelled() else listening.exception()
        if error is not None and not isinstance(error, FetchError):
            logger.error("%s: the event stream failed", self.target.url, exc_info=error)
        self.state = Target.Stream.CLOSED
        self.closed()
        while time.monotonic() < closed + CONFIRMING and not self._outlived(closed):
            if self.current() is not observation:
                return
            await asyncio.sleep(0.1)
        if self.current() is observation and self._outlived(closed):
            reason = str(error) if error else "it was closed"
            self._record_loss(observation, now, f"the event stream was lost: {reason}")
        until = time.monotonic() + self.wait * random.uniform(0.75, 1.25)
        while self.current() is observation and time.monotonic() < until:
            await asyncio.sleep(0.1)
        self.wait = min(LONGEST_WAIT, self.wait * 2)

    def _outlived(self, closed: float) -> bool:
        """Whether the scheduler has answered since (monotonic)."""
        return self.is_confirmed() and self.answered() > closed

    def _record_loss(self, observation: Observation, since: float, message: str) -> None:
        if not self.is_lost:
            self.is_lost = True
            observation.event("stream-lost", since, message)
