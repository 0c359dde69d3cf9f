"""The workers of one cluster: their lifetimes, from what identity, counters and the event stream say.

Stock Dask doesn't say why a worker left. These signs, within SETTLING seconds, say that it was lost rather
than closed in order: its last heartbeat was long overdue; the scheduler called tasks on it suspicious, which
it does only for a worker that it didn't expect to go; or its nanny (or a worker of its name) is back at
another address although nobody asked for a restart. A worker that dies idle and without a nanny looks exactly
like one that was closed: only the agent can tell.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from observatory.collect.scheduler.identity import MAXIMUM_WORKERS, Identity, WorkerIdentity
from observatory.wire.records import Event, WorkerGone, WorkerSeen

SETTLING = 5.0
NANNY_SETTLING = 15.0
"""the same for a worker with a nanny, which takes its time to start another one"""
OVERDUE = 10.0
RESTARTING = 60.0
"""seconds after Client.restart in which workers go and come by order"""
LEAVING = {"closing", "closing_gracefully", "closed"}

Record = WorkerSeen | WorkerGone | Event


@dataclass(slots=True)
class Member:
    worker: WorkerIdentity
    joined: float
    """monotonic"""


@dataclass(slots=True)
class Departure:
    worker: WorkerIdentity
    time: float
    """on the scheduler's clock"""
    left: float
    """monotonic"""


class Membership:
    """Yields records into `emit`. Times named `time` are on the scheduler's clock."""

    def __init__(self, emit: Callable[[Record], None]) -> None:
        self.emit = emit
        self.members: dict[str, Member] = {}
        self.departures: dict[str, Departure] = {}
        self.restarted = -RESTARTING
        self.complete = False
        """whether a list of all workers was seen: before, nobody has just joined"""

    def remember(self, address: str, moment: float) -> None:
        """A worker whose lifetime an earlier observation of the cluster left open."""
        worker = WorkerIdentity(address, "", "", 0, 0, "", "", "", 0, moment)
        self.members[address] = Member(worker, -math.inf)
        self.complete = True

    def listed(self, identity: Identity, asked: float, time: float) -> None:
        """Takes in a list of all workers that the scheduler was `asked` for (monotonic)."""
        for worker in identity.workers.values():
            self._listed_one(worker, asked, time)
        for address, member in list(self.members.items()):
            if address not in identity.workers and member.joined < asked:
                self.left(address, time)
        self.complete = True

    def _listed_one(self, worker: WorkerIdentity, asked: float, moment: float) -> None:
        departure = self.departures.get(worker.address)
        if departure is not None:
            if departure.left >= asked:
                return
            self._settle(departure, lost=departure.worker.directory not in {"", worker.directory})
        member = self.members.get(worker.address)
        if member is None:
            self._add(worker, moment)
        elif worker.directory and member.worker.directory not in {"", worker.directory}:
            self.left(worker.address, moment)
            self._settle(self.departures[worker.address], lost=True)
            self._add(worker, moment)
        else:
            self._update(member, worker, moment)

    def _add(self, worker: WorkerIdentity, moment: float) -> None:
        self.members[worker.address] = Member(worker, time.monotonic())
        self.emit(worker.seen(moment))
        if self.complete:
            name = worker.name or worker.address
            self.emit(Event(moment, "worker-added", worker.address, {"message": f"{name} joined"}))
        for departure in list(self.departures.values()):
            same = departure.worker.nanny and departure.worker.nanny == worker.nanny
            named = departure.worker.name and departure.worker.name == worker.name
            if (same or named) and departure.worker.address != worker.address:
                self._settle(departure, lost=True)

    def _update(self, member: Member, worker: WorkerIdentity, moment: float) -> None:
        known = member.worker
        if worker.status and known.status and worker.status != known.status:
            message = f"{worker.name or worker.address} is {worker.status.replace('_', ' ')}"
            detail = {"message": message, "from": known.status, "to": worker.status}
            self.emit(Event(moment, "worker-status", worker.address, detail))
        merged = merge(known, worker)
        if merged.seen(0) != known.seen(0):
            self.emit(merged.seen(moment))
            member.worker = merged
            self._rejoin(merged)
        else:
            member.worker = merged

    def _rejoin(self, worker: WorkerIdentity) -> None:
        """A worker's name and nanny became known after it had joined: is it one that is back?"""
        for departure in list(self.departures.values()):
            if departure.worker.nanny and departure.worker.nanny == worker.nanny:
                self._settle(departure, lost=True)

    def joined(self, address: str, moment: float) -> bool:
        """The stream named a worker. True when it wasn't known: then its identity has to be asked for."""
        if address in self.members or len(self.members) >= MAXIMUM_WORKERS:
            return False
        if address in self.departures:
            self._settle(self.departures[address], lost=True)
        host = address.rpartition("://")[2].rpartition(":")[0].strip("[]")
        self._add(WorkerIdentity(address, "", host, 0, 0, "", "", "", 0, moment), moment)
        return True

    def left(self, address: str, moment: float) -> bool:
        """A worker is no longer in the scheduler's list. True when it was known."""
        member = self.members.pop(address, None)
        if member is None:
            return False
        now = time.monotonic()
        departure = Departure(member.worker, moment, now)
        self.departures[address] = departure
        if moment - member.worker.last_seen > max(OVERDUE, 6 * heartbeat_interval(len(self.members) + 1)):
            self._settle(departure, lost=True)
        elif member.worker.status in LEAVING or now - self.restarted < RESTARTING:
            self._settle(departure, lost=False)
        return True

    def suspicious(self, asked: float) -> None:
        """The scheduler called tasks suspicious, by a scrape that it was `asked` for (monotonic)."""
        for departure in [departure for departure in self.departures.values() if departure.left < asked]:
            self._settle(departure, lost=True)

    def settle(self) -> None:
        """Ends the lifetimes of those that left a while ago and gave no sign that they were lost."""
        for departure in list(self.departures.values()):
            settling = NANNY_SETTLING if departure.worker.nanny else SETTLING
            if time.monotonic() - departure.left > settling:
                self._settle(departure, lost=False)

    def _settle(self, departure: Departure, lost: bool) -> None:
        worker = departure.worker
        del self.departures[worker.address]
        reason = "lost" if lost else "removed"
        message = f"{worker.name or worker.address} {'was lost' if lost else 'left'}"
        self.emit(Event(departure.time, f"worker-{reason}", worker.address, {"message": message}))
        self.emit(WorkerGone(worker.address, departure.time, reason))

    def end(self, moment: float) -> None:
        """The cluster ended: so did the lifetimes of all that were still there."""
        for departure in list(self.departures.values()):
            self.emit(WorkerGone(departure.worker.address, departure.time, "cluster-ended"))
        for address, member in self.members.items():
            self.emit(WorkerGone(address, max(moment, member.worker.last_seen), "cluster-ended"))
        self.members.clear()
        self.departures.clear()
        self.complete = False


def merge(known: WorkerIdentity, told: WorkerIdentity) -> WorkerIdentity:
    """What is known of a worker: the workers' page leaves out what identity.json tells."""
    return WorkerIdentity(
        address=told.address,
        name=told.name or known.name,
        host=told.host or known.host,
        nthreads=told.nthreads or known.nthreads,
        memory_limit=told.memory_limit or known.memory_limit,
        status=told.status or known.status,
        nanny=told.nanny or known.nanny,
        directory=told.directory or known.directory,
        port=told.port or known.port,
        last_seen=told.last_seen,
        resources=told.resources or known.resources,
        heartbeat=told.heartbeat,
    )


def heartbeat_interval(workers: int) -> float:
    """Seconds between two heartbeats of a worker, as the scheduler sets it (distributed.scheduler)."""
    if workers <= 10:
        return 0.5
    return 1.0 if workers < 50 else 2.0 if workers < 200 else workers / 200 + 1
