"""The alert “Observatory itself”: notifies the channels when a component of Observatory fails.

The web process sends it, without Celery, Redis and writes to the database: these may be what fails. With
several web processes the one that holds the lock sends; the channels are remembered for the time when the
database does not answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
from django.db import Error as DatabaseError
from django.db import close_old_connections
from django.urls import reverse
from django.utils.timezone import now

from observatory.alerts.models import Channel, Severity
from observatory.alerts.notifying.channels import channel_kinds
from observatory.alerts.notifying.errors import SendError
from observatory.alerts.notifying.message import Change, Item, Message
from observatory.alerts.notifying.sending import send
from observatory.clusters.addresses.public_urls import public_url
from observatory.runtime.health.checks import CheckResult, own_faults
from observatory.store.connection import connect_session
from observatory.store.maintenance.advisory_lock import OWN_ALERT, lock_session

log = logging.getLogger(__name__)

NAME = "Observatory itself"
INTERVAL = 30.0
"""seconds between two checks"""
HOLD = timedelta(minutes=2)
"""how long a component has to fail: processes may be starting"""
REFRESH = timedelta(minutes=1)
"""how often receivers that forget firing alerts get it again"""
FINGERPRINT = f"{OWN_ALERT:032x}"


class OwnAlert:
    """The state of the alert in this process. For one thread."""

    def __init__(self) -> None:
        self.pending: datetime | None = None
        """when the failure began"""
        self.text = ""
        self.message_id: UUID = uuid4()
        self._sent: dict[int, datetime] = {}
        """by channel: when the firing alert was last sent"""
        self._unresolved: dict[int, Channel] = {}
        """channels to notify of the end"""
        self._channels: list[Channel] = []
        self._lock: psycopg.Connection | None = None

    def update(self, faults: Sequence[CheckResult], at: datetime) -> None:
        """Sends the alert or its end, if this process holds the lock. What fails is sent again next time."""
        if not self._is_ours():
            return
        if not faults:
            self._resolve(at)
            return
        if self.pending is None:
            self.pending, self.message_id = at, uuid4()
        self.text = "; ".join(f"{fault.component}: {fault.text}" for fault in faults)
        if at - self.pending < HOLD:
            return
        for channel in self._channels:
            if self._is_due(channel, at) and self._send(channel, Change.FIRING, at):
                self._sent[channel.pk] = at
                self._unresolved[channel.pk] = channel

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def _is_due(self, channel: Channel, at: datetime) -> bool:
        sent = self._sent.get(channel.pk)
        return sent is None or (channel_kinds()[channel.kind].needs_refresh and at - sent >= REFRESH)

    def _resolve(self, at: datetime) -> None:
        for channel in list(self._unresolved.values()):
            if not channel.tells_resolved or self._send(channel, Change.RESOLVED, at):
                del self._unresolved[channel.pk]
        if not self._unresolved:
            self.pending = None
            self._sent.clear()

    def _send(self, channel: Channel, change: Change, at: datetime) -> bool:
        item = Item(
            change=change,
            labels={
                "alertname": NAME,
                "severity": Severity.CRITICAL.value,
                "cluster": "Observatory",
                "project": "Observatory",
            },
            severity=Severity.CRITICAL.value,
            summary=f"{NAME}: {self.text}",
            description="A component of Observatory fails. Until it works, data or alerts may be missing.",
            advice="Run `dask-observatory doctor` on the server: it says how to fix what fails.",
            starts=self.pending or at,
            stops=at if change == Change.RESOLVED else None,
            is_late=False,
            page_url=public_url(reverse("alerts")),
            moment_url="",
            fingerprint=FINGERPRINT,
        )
        try:
            send(channel, Message(self.message_id, channel.name, [item]), at)
        except SendError as error:
            log.warning("sending “%s” to channel %d failed: %s", NAME, channel.pk, error)
            return False
        return True

    def _is_ours(self) -> bool:
        """Whether this process is the one that sends. It stays so while the database does not answer."""
        try:
            if self._lock is None or self._lock.closed:
                self._lock = None
                self._lock = lock_session(connect_session(), OWN_ALERT)
            else:
                self._lock.execute("SELECT 1")
            if self._lock is not None:
                self._channels = list(Channel.objects.filter(enabled=True, projects=None, rules=None))
        except (psycopg.Error, DatabaseError):
            return bool(self._channels)
        return self._lock is not None


async def lifespan(
    scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
) -> None:
    """Runs the checks while the web process serves (ASGI's lifespan protocol)."""
    await receive()
    await send({"type": "lifespan.startup.complete"})
    watch = asyncio.create_task(_watch())
    await receive()
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch
    await send({"type": "lifespan.shutdown.complete"})


async def _watch() -> None:
    alert = OwnAlert()
    try:
        while True:
            await asyncio.sleep(INTERVAL)
            await asyncio.to_thread(_check, alert)
    finally:
        alert.close()


def _check(alert: OwnAlert) -> None:
    try:
        alert.update(own_faults(), now())
    except Exception:  # the watch must go on
        log.exception("the check of Observatory's components failed")
    finally:
        close_old_connections()
