"""Reads in the scheduler's log why workers left.

`/info/main/logs.html`, a stock page, has the scheduler's last log lines, the newest first. At the level
`info`, which is Dask's default, each removal of a worker is a line with its stimulus. A worker that a client
restarts or the scheduler closes is removed when its connection breaks; lines before that say that it was on
purpose.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from observatory.wire.records import clean_text
from observatory.wire.workers.departures import BROKEN, CLOSED_BY_SCHEDULER, RESTARTED, Reason, reason_of

ON_PURPOSE = 60.0
"""Seconds after a restart or a request to close in which a worker's connection breaks on purpose."""
LONGEST_WHY = 300

LINE = re.compile(r"<p>([^<]*)</p>")
BEGINS = re.compile(r"(?:Remove|Register) worker addr: |Closing worker |Restarting (?:all|\d+) workers")
"""Where the message begins; later in the line, a worker's name may say the same."""
REMOVED = re.compile(r"Remove worker addr: (\S+) name: .*\(stimulus_id='([^']*)'\)\s*$", re.DOTALL)
REGISTERED = re.compile(r"Register worker addr: (\S+) name: ")
CLOSING = re.compile(r"Closing worker (\S+)\s*$")
RESTARTING = re.compile(r"Restarting (?:(all)|\d+) workers(?:: \[(.*)\])? \(stimulus_id='([^']*)'")
ADDRESS = re.compile(r"'([^']+)'")
TIME = re.compile(r"-(\d+(?:\.\d+)?)$")


@dataclass(frozen=True, slots=True)
class Removal:
    """One removal of a worker."""

    reason: Reason
    time: float
    """When what led to it began, on the scheduler's clock; 0 when the log does not say."""


Removals = dict[str, list[Removal]]
"""By the worker's address, in order of time."""


class _Reading:
    """Follows the log from its oldest line on."""

    def __init__(self) -> None:
        self.removals: defaultdict[str, list[Removal]] = defaultdict(list)
        self.restarted = 0.0
        """When all workers were last restarted."""
        self.registered: set[str] = set()
        """Workers that registered since then."""
        self.restarts: dict[str, float] = {}
        """When each worker was restarted alone."""
        self.closing: set[str] = set()

    def add(self, line: str) -> None:
        begins = BEGINS.search(line)
        if begins is None:
            return
        message = line[begins.start() :]
        if found := REMOVED.match(message):
            self._removed(found[1], found[2])
        elif found := REGISTERED.match(message):
            self.registered.add(found[1])
            self.closing.discard(found[1])
            self.restarts.pop(found[1], None)
        elif found := RESTARTING.match(message):
            self._restarting(bool(found[1]), ADDRESS.findall(found[2] or ""), _time_of(found[3]))
        elif found := CLOSING.match(message):
            self.closing.add(found[1])

    def _restarting(self, are_all: bool, addresses: list[str], time: float) -> None:
        if are_all:
            self.restarted = time
            self.registered.clear()
        self.restarts.update(dict.fromkeys(addresses, time))

    def _removed(self, address: str, stimulus: str) -> None:
        reason, time = reason_of(clean_text(stimulus, LONGEST_WHY)), _time_of(stimulus)
        if reason is BROKEN:
            reason = self._on_purpose(address, time) or reason
        self.closing.discard(address)
        self.removals[address].append(Removal(reason, time))

    def _on_purpose(self, address: str, time: float) -> Reason | None:
        """Why a worker's connection broke at `time`, if somebody wanted it to."""
        restarted = self.restarts.get(address, 0.0)
        if address not in self.registered:
            restarted = max(restarted, self.restarted)
        if 0 <= time - restarted <= ON_PURPOSE:
            return RESTARTED
        return CLOSED_BY_SCHEDULER if address in self.closing else None


def read_scheduler_log(body: bytes) -> Removals:
    """The removals of workers in a page of logs, which may be cut off at its end."""
    reading = _Reading()
    for line in reversed(list(_lines(body.decode("utf-8", "replace")))):
        reading.add(line)
    return reading.removals


def _lines(page: str) -> Iterator[str]:
    return (html.unescape(found[1]) for found in LINE.finditer(page) if BEGINS.search(found[1]))


def _time_of(stimulus: str) -> float:
    """The time at the end of a stimulus_id; 0 without one."""
    found = TIME.search(stimulus)
    return float(found[1]) if found else 0.0
