"""Tracks the lifetimes of one cluster's workers, from identity.json, counters and the event stream.

Why a worker left is decided when enough is known, by what tells most:

1. the scheduler's log (scheduler_log.py): it was retired, restarted, or closed, or no heartbeat came;
2. signs that it was lost: its last heartbeat was long overdue; the scheduler marked tasks suspicious, which
   it does only when a worker leaves unexpectedly; its nanny, or a worker of the same name, returned at
   another address;
3. signs that it left on purpose: its status, or that the cluster was restarted;
4. else it disappeared, if the log says that its connection broke. A worker that is killed while idle and one
   that gets a signal to end look the same: only the agent can tell them apart.

Without the log (a level above `info`, or no such page) a departure without signs has no known reason.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from observatory.collect.scheduler.identity import MAXIMUM_WORKERS, Identity, WorkerIdentity
from observatory.collect.workers.scheduler_log import Removals
from observatory.wire.clocks import heartbeat_interval
from observatory.wire.event_kinds import CLUSTER_ENDED, WORKER_DISAPPEARED, WORKER_LOST, WORKER_REMOVED
from observatory.wire.records import Event, WorkerGone, WorkerSeen
from observatory.wire.workers.departures import BROKEN, DISAPPEARED, LOST, REMOVED, UNKNOWN, Reason
from observatory.wire.workers.processes import process_of_address

SETTLING = 5.0
"""Seconds to wait for signs of why a worker left."""
NANNY_SETTLING = 15.0
"""The same for a worker with a nanny, which needs time to start another process."""
OVERDUE = 10.0
"""Seconds without a heartbeat after which a worker that left is lost."""
RESTARTING = 60.0
"""Seconds after Client.restart in which workers leave and return on purpose."""
UNREAD = 15.0
"""Seconds after which the scheduler's log is no longer waited for."""
LATER = 2.0
"""Seconds by which a removal's time may be later than that of the departure, which is estimated."""
LEAVING = {"closing", "closing_gracefully", "closed"}
UNTOLD = "reason unknown without the agent"
KINDS = {LOST: WORKER_LOST, DISAPPEARED: WORKER_DISAPPEARED}
"""The kind of event of each reason; that of others is WORKER_REMOVED."""

REPLACED = Reason(LOST, "another process of the same nanny or name took its place")
ANOTHER_PROCESS = Reason(LOST, "another process answers at its address")
SAME_PROCESS = Reason(REMOVED, "it registered again")
SUSPICIOUS = Reason(LOST, "it had tasks when its connection broke")

Record = WorkerSeen | WorkerGone | Event


@dataclass(slots=True)
class Member:
    """A worker in the scheduler's list."""

    worker: WorkerIdentity
    joined: float
    """Monotonic."""


@dataclass(slots=True)
class Departure:
    """A worker that left and for which the reason is not settled."""

    worker: WorkerIdentity
    time: float
    """On the scheduler's clock."""
    left: float
    """Monotonic."""
    is_logged: bool | None = None
    """Whether the scheduler's log has it; None before the log was read."""
    logged_reason: Reason | None = None
    """What the log says."""
    sign: Reason | None = None
    """What other signs say."""


class Membership:
    """Calls `emit` with records. Times are on the scheduler's clock unless called monotonic."""

    def __init__(self, emit: Callable[[Record], None]) -> None:
        self.emit = emit
        self.members: dict[str, Member] = {}
        self.departures: dict[str, Departure] = {}
        self.departed: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        """The addresses in `departures` by what a worker that replaces one has in common with it."""
        self.listed: set[str] = set()
        """The addresses of the last list that was not empty."""
        self.restarted = -RESTARTING
        self.answered = -math.inf
        """When the scheduler last answered (monotonic)."""
        self.complete = False
        """Whether a full list of workers was read; before that, an unknown worker has not just joined."""

    def resume(self, address: str, now: float) -> None:
        """Adds a worker whose lifetime an earlier observation left open."""
        process = process_of_address(address)
        worker = WorkerIdentity(address, "", "", 0, 0, "", "", "", 0, now, process=process)
        self.members[address] = Member(worker, -math.inf)
        self.complete = True

    def update(self, identity: Identity, requested: float, time: float) -> None:
        """Compares with the scheduler's list of workers. `requested`: when it was requested (monotonic)."""
        for worker in identity.workers.values():
            self._update_worker(worker, requested, time)
        for address, member in list(self.members.items()):
            if address not in identity.workers and member.joined < requested:
                self.left(address, time)
        self.complete = True
        self.answered = requested
        if identity.workers:
            self.listed = set(identity.workers)

    def is_replaced_by(self, identity: Identity) -> bool:
        """Whether the scheduler lists workers, and none that it listed before or whose join was announced.

        False after a restart of the cluster, which replaces all workers, too.
        """
        known = self.listed | self.members.keys()
        was_restarted = time.monotonic() - self.restarted < RESTARTING
        return bool(known and identity.workers) and known.isdisjoint(identity.workers) and not was_restarted

    def _update_worker(self, worker: WorkerIdentity, requested: float, now: float) -> None:
        departure = self.departures.get(worker.address)
        if departure is not None:
            if departure.left >= requested:
                return
            is_another = departure.worker.directory not in {"", worker.directory}
            self._returned(departure, ANOTHER_PROCESS if is_another else SAME_PROCESS)
            now = max(now, departure.time)
        member = self.members.get(worker.address)
        if member is None:
            self._add(worker, now)
        elif worker.directory and member.worker.directory not in {"", worker.directory}:
            self.left(worker.address, now)
            self._returned(self.departures[worker.address], ANOTHER_PROCESS)
            self._add(worker, now)
        else:
            self._update(member, worker, now)

    def _add(self, worker: WorkerIdentity, now: float) -> None:
        self.members[worker.address] = Member(worker, time.monotonic())
        self.emit(worker.seen(now))
        if self.complete:
            name = worker.name or worker.address
            self.emit(Event(now, "worker-added", worker.address, {"message": f"{name} joined"}))
        self._settle_replaced(worker, ("nanny", worker.nanny), ("name", worker.name))

    def _update(self, member: Member, worker: WorkerIdentity, now: float) -> None:
        known = member.worker
        if worker.status and known.status and worker.status != known.status:
            name, before = worker.name or worker.address, known.status.replace("_", " ")
            message = f"{name} is {worker.status.replace('_', ' ')}, was {before}"
            detail = {"message": message, "before": known.status, "status": worker.status}
            self.emit(Event(now, "worker-status", worker.address, detail))
        merged = merge(known, worker)
        if merged.seen(0) != known.seen(0):
            self.emit(merged.seen(now))
            member.worker = merged
            self._rejoin(merged)
        else:
            member.worker = merged

    def process_of(self, address: str) -> str:
        """The process of a worker, if it is known that others share it; else ""."""
        member = self.members.get(address)
        return member.worker.process if member is not None else ""

    def is_first_of_process(self, address: str) -> bool:
        """Whether no worker that joined earlier runs in the same process."""
        process = self.process_of(address)
        if not process:
            return True
        return address == next(each for each in self.members if self.process_of(each) == process)

    def shares_process(self, address: str, process: str, now: float) -> None:
        """A worker's metrics showed in which process it runs."""
        member = self.members.get(address)
        if member is not None and not member.worker.process:
            member.worker = replace(member.worker, process=process)
            self.emit(member.worker.seen(now))

    def _rejoin(self, worker: WorkerIdentity) -> None:
        """A worker's nanny became known after it joined: settles the lost worker that it replaces."""
        self._settle_replaced(worker, ("nanny", worker.nanny))

    def _settle_replaced(self, worker: WorkerIdentity, *common: tuple[str, str]) -> None:
        """A worker replaces those that left and have one of `common`: a sign that they were lost."""
        replaced = set().union(*(self.departed.get(each, ()) for each in common)) - {worker.address}
        for address in sorted(replaced):
            self._add_sign(self.departures[address], REPLACED)

    def _add_sign(self, departure: Departure, sign: Reason) -> None:
        departure.sign = departure.sign or sign
        self._settle_if_known(departure)

    def _returned(self, departure: Departure, sign: Reason) -> None:
        """Settles a departure, because a worker joined at the same address."""
        self._settle(departure, self._explained(departure) or departure.sign or sign)

    def joined(self, address: str, now: float) -> bool:
        """The event stream named a worker. True when it is new, so that its identity has to be polled."""
        if address in self.members or len(self.members) >= MAXIMUM_WORKERS:
            return False
        departure = self.departures.get(address)
        if departure is not None:
            self._returned(departure, ANOTHER_PROCESS)
            now = max(now, departure.time)
        host = address.rpartition("://")[2].rpartition(":")[0].strip("[]")
        process = process_of_address(address)
        self._add(WorkerIdentity(address, "", host, 0, 0, "", "", "", 0, now, process=process), now)
        return True

    def left(self, address: str, when: float) -> bool:
        """A worker left the scheduler's list. True when it was known."""
        member = self.members.pop(address, None)
        if member is None:
            return False
        now = time.monotonic()
        departure = Departure(member.worker, when, now)
        self.departures[address] = departure
        for common in _common(member.worker):
            self.departed[common].add(address)
        silent = when - member.worker.last_seen
        if silent > max(OVERDUE, 6 * heartbeat_interval(len(self.members) + 1)):
            departure.sign = Reason(LOST, f"its last heartbeat was {silent:.0f} s old")
        elif member.worker.status in LEAVING:
            departure.sign = Reason(REMOVED, f"it was {member.worker.status.replace('_', ' ')}")
        elif now - self.restarted < RESTARTING:
            departure.sign = Reason(REMOVED, "the cluster was restarted")
        return True

    @property
    def has_unexplained(self) -> bool:
        """Whether a worker left about which the scheduler's log was not read yet."""
        return any(departure.is_logged is None for departure in self.departures.values())

    def explain(self, removals: Removals, requested: float) -> None:
        """Adds what the scheduler's log says about workers that left.

        `requested`: when it was requested (monotonic).
        """
        self.answered = max(self.answered, requested)
        for departure in [each for each in self.departures.values() if each.left < requested]:
            logged = [
                removal
                for removal in removals.get(departure.worker.address, ())
                if removal.time <= departure.time + LATER
            ]
            departure.is_logged = bool(logged)
            departure.logged_reason = logged[-1].reason if logged else None
            self._settle_if_known(departure)

    def suspicious(self, requested: float) -> None:
        """The scheduler marked tasks suspicious in a scrape: a sign that workers that left before were lost.

        `requested`: when the scrape was sent (monotonic).
        """
        for departure in [departure for departure in self.departures.values() if departure.left < requested]:
            self._add_sign(departure, SUSPICIOUS)

    def settle(self) -> None:
        """Ends the lifetimes of workers that left and of which no more will be known."""
        for departure in list(self.departures.values()):
            if self._settle_if_known(departure):
                continue
            settling = departure.left + (NANNY_SETTLING if departure.worker.nanny else SETTLING)
            # a scheduler that does not answer may have ended together with its workers
            if self.answered > settling and self._is_read(departure):
                disappeared = Reason(DISAPPEARED if departure.is_logged else UNKNOWN, UNTOLD)
                self._settle(departure, disappeared)

    def _is_read(self, departure: Departure) -> bool:
        return departure.is_logged is not None or time.monotonic() - departure.left > UNREAD

    def _explained(self, departure: Departure) -> Reason | None:
        """The reason in the scheduler's log, if it has one that explains the departure."""
        return departure.logged_reason if departure.logged_reason is not BROKEN else None

    def _settle_if_known(self, departure: Departure) -> bool:
        known = self._explained(departure) or (departure.sign if self._is_read(departure) else None)
        if known is not None:
            self._settle(departure, known)
        return known is not None

    def _settle(self, departure: Departure, reason: Reason) -> None:
        worker = departure.worker
        del self.departures[worker.address]
        for common in _common(worker):
            self.departed[common].discard(worker.address)
            if not self.departed[common]:
                del self.departed[common]
        kind = KINDS.get(reason.reason, WORKER_REMOVED)
        message = f"{worker.name or worker.address} {_sentence(reason)}"
        self.emit(Event(departure.time, kind, worker.address, {"message": message, "reason": reason.reason}))
        self.emit(WorkerGone(worker.address, departure.time, reason.reason))

    def end(self, now: float) -> None:
        """Ends all lifetimes, because the cluster ended."""
        for departure in list(self.departures.values()):
            self.emit(WorkerGone(departure.worker.address, departure.time, CLUSTER_ENDED))
        for address, member in self.members.items():
            self.emit(WorkerGone(address, max(now, member.worker.last_seen), CLUSTER_ENDED))
        self.members.clear()
        self.departures.clear()
        self.departed.clear()
        self.complete = False


def _sentence(reason: Reason) -> str:
    """What happened to a worker, after its name."""
    if reason.reason == DISAPPEARED:
        return f"disappeared, {reason.why}"
    if reason.reason == UNKNOWN:
        return f"left, {reason.why}"
    return f"{'was lost' if reason.reason == LOST else 'left'}: {reason.why}"


def _common(worker: WorkerIdentity) -> Iterator[tuple[str, str]]:
    """What a worker that replaces this one has in common with it."""
    if worker.nanny:
        yield "nanny", worker.nanny
    if worker.name:
        yield "name", worker.name


def merge(known: WorkerIdentity, new: WorkerIdentity) -> WorkerIdentity:
    """Merges a worker's identities: the workers page lacks values that identity.json has."""
    return WorkerIdentity(
        address=new.address,
        name=new.name or known.name,
        host=new.host or known.host,
        nthreads=new.nthreads or known.nthreads,
        memory_limit=new.memory_limit or known.memory_limit,
        status=new.status or known.status,
        nanny=new.nanny or known.nanny,
        directory=new.directory or known.directory,
        port=new.port or known.port,
        last_seen=new.last_seen,
        resources=new.resources or known.resources,
        heartbeat=new.heartbeat,
        process=new.process or known.process,
    )
