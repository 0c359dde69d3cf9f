"""Records the spans of tasks, on the scheduler's clock."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from time import time
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.scheduler.long_running import LongRunning
from observatory.wire.clocks import HEARTBEAT_LATENCY, TOLERANCE, UNCORRECTED_ACTIONS
from observatory.wire.dropped_records import DropReason, dropped_detail
from observatory.wire.event_kinds import RECORDS_DROPPED
from observatory.wire.records import Action

ACTIONS = {action.label: int(action) for action in Action}


class Spans:
    """Makes rows of kind `span`. Those that cannot be right are counted, and reported as an event."""

    def __init__(
        self, scheduler: Scheduler, buffer: Buffer, started: float, long_running: LongRunning
    ) -> None:
        """`started`: when the scheduler started, in seconds; the earliest time of a span."""
        self.scheduler = scheduler
        self._long_running = long_running
        self.started = started
        self._append = buffer.appender("span")
        self._event = buffer.appender("event")
        self._joined: dict[str, float] = {}
        """When the workers joined that the agent saw joining."""
        self._outside: list[float] = []
        """When the spans were reported that are outside of their worker's life."""

    def joined(self, worker: str) -> None:
        self._joined[worker] = time()

    def left(self, worker: str) -> None:
        self._joined.pop(worker, None)

    def record(self, key: Any, status: int, message: Mapping[str, Any]) -> None:
        """Records the spans of a task that finished or failed, from the worker's message.

        A worker estimates how far its clock is from the scheduler's by a heartbeat, which is wrong by up to
        its latency. Spans that would end after the message came are stored earlier by that much. Transfers
        keep their times: the worker's log of transfers has the same, by which the waiting task is found.
        A computation is two spans from where it seceded: it took no thread of the pool any more. A worker
        that computes a task once more, whose result it had, reports the spans of before again.
        """
        spans = _of_last_run(message.get("startstops") or ())
        worker = message.get("worker") or ""
        seconds = self._long_running.ended(key, worker)
        if not spans:
            return
        thread = message.get("thread") or 0
        nbytes = message.get("nbytes") or 0
        typename = message.get("typename") or ""
        now = time()
        earliest, latest = self._joined.get(worker, self.started) - TOLERANCE, now + TOLERANCE
        ahead = _ahead(spans, now)
        for span in spans:
            label = span["action"]
            action = ACTIONS.get(label)
            if action is None:
                continue
            is_uncorrected = action in UNCORRECTED_ACTIONS
            delay = self._delay(worker) if is_uncorrected else 0.0
            start, stop = span["start"] + delay, span["stop"] + delay
            if earliest <= start and stop <= latest:
                if action != Action.TRANSFER:
                    early = max(0.0, stop - now) if is_uncorrected else ahead
                    start, stop = start - early, stop - early
                seceded = stop
                if action == Action.COMPUTE and seconds is not None:
                    seceded = min(start + seconds, stop)
                self._append((worker, thread, key, action, start, seceded, nbytes, typename, status))
                if seceded < stop:
                    rest = int(Action.LONG_RUNNING), seceded, stop
                    self._append((worker, thread, key, *rest, nbytes, typename, status))
            else:
                self._outside.append(now)

    def report(self, now: float) -> None:
        """Records an event if spans were left out since the last call."""
        if not self._outside:
            return
        outside, self._outside = self._outside, []
        count = len(outside)
        detail = dropped_detail("span", count, DropReason.WRONG_CLOCK, outside[0], outside[-1])
        self._event((now, RECORDS_DROPPED, "", json.dumps(detail)))

    def _delay(self, worker: str) -> float:
        """Seconds that the scheduler's clock is ahead of the worker's, measured by Dask's heartbeats."""
        delay = float(getattr(self.scheduler.workers.get(worker), "time_delay", 0.0))
        return delay if abs(delay) > HEARTBEAT_LATENCY else 0.0


def _of_last_run(spans: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Those since the computation before the last one."""
    computed = [place for place, span in enumerate(spans) if span["action"] == Action.COMPUTE.label]
    return spans[computed[-2] + 1 :] if len(computed) > 1 else spans


def _ahead(spans: Iterable[Mapping[str, Any]], now: float) -> float:
    """Seconds by which the corrected spans of a message are too late, at least: the last one ended by now."""
    stops = (span["stop"] for span in spans if ACTIONS.get(span["action"]) not in UNCORRECTED_ACTIONS)
    return max(0.0, max((stop for stop in stops if stop <= now + TOLERANCE), default=now) - now)
