"""The agent's scheduler plugin. Hooks append rows to a buffer; threads of its own encode and send them.

No hook encodes, waits or raises. One call of the `transition` hook costs about a microsecond.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from time import monotonic, time
from typing import Any

from distributed import Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin

from observatory.agent import process_end
from observatory.agent.configuration import Configuration, read_configuration
from observatory.agent.delivery.buffer import Buffer
from observatory.agent.delivery.sender import CLOSING, ClusterInfo, Sender
from observatory.agent.logs import Listener, handler
from observatory.agent.naming import manager_name
from observatory.agent.plugin_bundle import pack
from observatory.agent.scheduler.client_runs import ClientRuns
from observatory.agent.scheduler.errors import Errors
from observatory.agent.scheduler.events import Events
from observatory.agent.scheduler.graphs import Graphs
from observatory.agent.scheduler.long_running import LongRunning
from observatory.agent.scheduler.samples import Sampler
from observatory.agent.scheduler.shuffles import BARRIER
from observatory.agent.scheduler.spans import Spans
from observatory.agent.scheduler.worker_lifetimes import WorkerLifetimes
from observatory.agent.scheduler.worker_messages import WorkerMessages
from observatory.wire.records import Status

log = logging.getLogger("distributed.observatory")

WORKER_PLUGIN = ("observatory.agent.worker.plugin", "WorkerAgent", "observatory-worker")
NANNY_PLUGIN = ("observatory.agent.worker.nanny", "NannyAgent", "observatory-nanny")
FLUSH = "observatory_flush"
FLUSH_TIMEOUT, EXIT_FLUSH_TIMEOUT = 3.0, 0.3
"""Most seconds for the last records of workers, and of nannies: when the scheduler closes, when the process
ends."""
WRITE_TIMEOUT = 2.0
"""Most seconds that a client whose run has ended waits for the scheduler's disk."""
CLOSED_CHECK = 0.01
"""Seconds between two looks at whether the last batches were sent."""
UNREGISTER = "observatory_unregister"
OK = int(Status.OK)
STEP = 2e-6
"""seconds: stays apart when rounded to microseconds"""


class SchedulerAgent(SchedulerPlugin):
    """Records the scheduler's state, and passes on the records of the workers' and nannies' agents."""

    name = "observatory"
    idempotent = True

    def __init__(self, given: Mapping[str, Any]) -> None:
        """Reads the settings; does nothing else before `start`. Raises ConfigurationError.

        Besides settings there may be `program`: the notebook or script that registers the agent.
        """
        settings = dict(given)
        self.program = str(settings.pop("program", ""))
        self.configuration: Configuration = read_configuration(**settings)
        self.scheduler: Any = None
        self._ending: Future[None] | None = None
        self.failures = 0

    async def start(self, scheduler: Scheduler) -> None:
        """Starts recording. A starting scheduler calls this again, after it cleared its state."""
        if self.scheduler is not None:
            self.client_runs.announce()
            return
        self.scheduler = scheduler
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.since = self._last_time = time()
        configuration = self.configuration
        self.buffer = buffer = Buffer()
        self._transition = buffer.appender("transition")
        self.long_running = LongRunning(scheduler)
        self.spans = Spans(scheduler, buffer, _started(scheduler), self.long_running)
        self.errors = Errors(scheduler, buffer, self.spans.record)
        self.lifetimes = WorkerLifetimes(scheduler, buffer)
        self.events = Events(scheduler, buffer, self.errors, self.lifetimes)
        self.graphs = Graphs(scheduler, buffer, configuration.key_edges_limit)
        self.sampler = Sampler(
            scheduler, buffer, configuration.sample_interval, self._report, self._is_at_rest
        )
        self.worker_messages = WorkerMessages(scheduler, buffer)
        self.client_runs: ClientRuns = ClientRuns(scheduler, buffer, self._write_now, configuration.url)
        cluster = ClusterInfo(
            scheduler.id, self._cluster_name(), scheduler.address, _started(scheduler), self.since
        )
        self.sender = Sender(configuration, cluster, buffer)
        self.listener = Listener(buffer.appender("log"), "scheduler", configuration.log_levels)
        handler.listen(self.listener)
        self.errors.install()
        self.long_running.install()
        self.events.install()
        self.graphs.install()
        self.worker_messages.install()
        self.client_runs.install()
        scheduler.handlers[UNREGISTER] = self.unregister
        self.lifetimes.install()
        self.sampler.start()
        self.sender.start()
        process_end.add(self)
        await self._register_plugins(configuration)
        log.info("Observatory's agent reports to %s as %r", configuration.url, cluster.name or scheduler.id)

    def _report(self, now: float) -> None:
        """Reports at each sampling what the hooks have counted."""
        self.spans.report(now)
        self.sender.cluster = replace(self.sender.cluster, name=self._cluster_name())

    def _is_at_rest(self) -> bool:
        return self.sender.pace.is_at_long_rest and not self.buffer.has_news

    def _cluster_name(self) -> str:
        """The configured name, else that of the cluster's manager, else of the program; "" without any."""
        return self.configuration.name or manager_name(self.scheduler) or self.program

    async def _register_plugins(self, configuration: Configuration) -> None:
        """Installs the agent on every worker and nanny, including those that join later."""
        settings = configuration.for_workers()
        scheduler = self.scheduler
        for register, (module, plugin, name) in (
            (scheduler.register_worker_plugin, WORKER_PLUGIN),
            (scheduler.register_nanny_plugin, NANNY_PLUGIN),
        ):
            payload = pack(module, plugin, settings)
            await register(None, plugin=payload, name=name, idempotent=True)

    def _next_time(self) -> float:
        """Now, but later than the transition before (Windows' clock gives many of them the same time)."""
        now = time()
        if now <= self._last_time < now + 1:
            now = self._last_time + STEP
        self._last_time = now
        return now

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        try:
            now = self._next_time()
            stimulus = kwargs.get("stimulus_id") or ""
            worker = kwargs.get("worker") or ""
            states = self.sampler.states
            states[start] -= 1
            states[finish] += 1
            if finish == "processing":
                state = self.scheduler.tasks[key].processing_on
                worker = state.address if state is not None else ""
            elif finish == "memory":
                self.spans.record(key, OK, kwargs)
                self.sampler.result_stored(key)
            elif start == "memory":
                self.sampler.result_released(key)
                if finish == "erred":
                    self.errors.actor_lost(key, now)
            elif finish == "erred":
                self.errors.erred(key, now, kwargs)
            if key.__class__ is str and key.startswith(BARRIER):
                self.sampler.shuffles.barrier_moved(key, start, now)
            self._transition((now, key, start, finish, worker, stimulus))
        except Exception:  # never disturb the scheduler
            self._failed("transition")

    def update_graph(self, scheduler: Scheduler, **kwargs: Any) -> None:
        self._guarded("update_graph", self.graphs.record, kwargs)

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        self._guarded("add_worker", self.spans.joined, worker)
        self._guarded("add_worker", self.lifetimes.added, worker)

    def remove_worker(self, scheduler: Scheduler, worker: str, **kwargs: Any) -> None:
        self._guarded("remove_worker", self.lifetimes.removed, worker, kwargs.get("stimulus_id") or "")
        self._guarded("remove_worker", self.sampler.forget, worker)
        self._guarded("remove_worker", self.spans.left, worker)

    def add_client(self, scheduler: Scheduler, client: str) -> None:
        self._guarded("add_client", self.events.client, "client-added", client)

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        self._guarded("remove_client", self.events.client, "client-removed", client)
        self._guarded("remove_client", self.client_runs.client_left, client)

    def restart(self, scheduler: Scheduler) -> None:
        self._guarded("restart", self.client_runs.announce)  # a restart clears the metadata
        self._guarded("restart", self.events.record, "restarted", "", "the cluster was restarted")

    def log_event(self, topic: str, msg: Any) -> None:
        self._guarded("log_event", self.events.logged, topic, msg)

    async def unregister(self) -> None:
        """Dask comm handler: removes the agent and restores the scheduler's handlers."""
        scheduler = self.scheduler
        scheduler.remove_plugin(self.name)
        await scheduler.unregister_worker_plugin(None, WORKER_PLUGIN[2])
        await scheduler.unregister_nanny_plugin(None, NANNY_PLUGIN[2])
        self.errors.uninstall()
        self.long_running.uninstall()
        self.events.uninstall()
        self.graphs.uninstall()
        self.worker_messages.uninstall()
        self.client_runs.uninstall()
        del scheduler.handlers[UNREGISTER]
        await self._finish(is_last=False)

    async def before_close(self) -> None:
        """Records the end of all workers when the scheduler closes, and of runs that wait for tasks."""
        self._guarded("before_close", self.client_runs.scheduler_closes)
        self._guarded("before_close", self.lifetimes.closed)

    async def close(self) -> None:
        """Sends the rest for a bounded time; unsent batches stay in the spool."""
        is_exiting = process_end.is_exiting()
        await self._flush_message_senders(EXIT_FLUSH_TIMEOUT if is_exiting else FLUSH_TIMEOUT)
        await self._finish(is_last=True, timeout=process_end.TIMEOUT if is_exiting else None)

    def begin_ending(self, reason: str) -> None:
        """Ends recording because the process ends. `reason`: the signal; "" when the process exits."""
        if self._loop.is_running() and threading.get_ident() != self._thread:
            self._ending = asyncio.run_coroutine_threadsafe(self._end(reason), self._loop)
        else:
            self._record_end(reason)

    def finish_ending(self, timeout: float) -> None:
        """Waits for the end. Where the event loop hangs or is over, the rest is sent without it."""
        if self._ending is not None:
            with contextlib.suppress(Exception):
                self._ending.result(timeout + EXIT_FLUSH_TIMEOUT)
        self.sender.close(timeout)

    def _record_end(self, reason: str) -> None:
        if reason:
            self._guarded("end", self.client_runs.process_ends, reason)
        self._guarded("end", self.lifetimes.closed)

    async def _end(self, reason: str) -> None:
        self._record_end(reason)
        await self._flush_message_senders(EXIT_FLUSH_TIMEOUT)
        await self._finish(is_last=True, timeout=process_end.TIMEOUT)

    async def _finish(self, is_last: bool, timeout: float | None = None) -> None:
        self._guarded("close", self.sampler.stop)
        self._guarded("close", handler.leave, self.listener)
        timeout = self.configuration.close_timeout if timeout is None else timeout
        self.sender.begin_closing(timeout, is_last)
        give_up = monotonic() + timeout + CLOSING
        while not self.sender.closed.is_set() and monotonic() < give_up:
            await asyncio.sleep(CLOSED_CHECK)
        process_end.remove(self)

    async def _flush_message_senders(self, timeout: float) -> None:
        """Makes workers and nannies send their remaining records, for a bounded time."""
        for nanny in (False, True):
            with contextlib.suppress(Exception):
                flushed = self.scheduler.broadcast(msg={"op": FLUSH}, nanny=nanny, on_error="ignore")
                await asyncio.wait_for(flushed, timeout)

    async def _write_now(self) -> None:
        """Returns when what is in the buffer is on disk, or the disk took too long."""
        loop, written = asyncio.get_running_loop(), asyncio.Event()
        self.sender.write_now(lambda: loop.call_soon_threadsafe(written.set))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(written.wait(), WRITE_TIMEOUT)

    def _guarded(self, hook: str, function: Callable[..., Any], *arguments: Any) -> None:
        try:
            function(*arguments)
        except Exception:  # never disturb the scheduler
            self._failed(hook)

    def _failed(self, hook: str) -> None:
        self.failures += 1
        if self.failures == 1:
            log.exception(
                "Observatory's agent failed in %s; further failures are counted but not logged", hook
            )


def _started(scheduler: Scheduler) -> float:
    started = getattr(scheduler, "time_started", None)
    return started if isinstance(started, float) else time()
