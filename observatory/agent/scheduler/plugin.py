"""The agent on the scheduler: Dask's hooks append rows, a thread of its own sends them.

Nothing in a hook encodes, waits or raises: a hook of `transition` costs about a microsecond.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable, Mapping
from time import time
from typing import Any

from distributed import Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin

from observatory.agent.configuration import Configuration, read_configuration
from observatory.agent.delivery.buffer import Buffer
from observatory.agent.delivery.sender import Cluster, Sender
from observatory.agent.logs import Listener, handler
from observatory.agent.plugin_bundle import pack
from observatory.agent.scheduler.client_runs import ClientRuns
from observatory.agent.scheduler.errors import Errors
from observatory.agent.scheduler.events import Events
from observatory.agent.scheduler.graphs import Graphs
from observatory.agent.scheduler.samples import Sampler
from observatory.agent.scheduler.worker_lifetimes import WorkerLifetimes
from observatory.agent.scheduler.worker_messages import WorkerMessages

log = logging.getLogger("distributed.observatory")

WORKER = ("observatory.agent.worker.plugin", "WorkerAgent", "observatory-worker")
NANNY = ("observatory.agent.worker.nanny", "NannyAgent", "observatory-nanny")
FLUSH = "observatory_flush"
FLUSHING = 3.0
UNREGISTER = "observatory_unregister"
OK = 0
ERROR = 1
ACTIONS = {"compute": 0, "transfer": 1, "disk-read": 2, "disk-write": 3, "deserialize": 4, "serialize": 5}


class SchedulerAgent(SchedulerPlugin):
    """Records what the scheduler knows and what the workers' and nannies' agents tell it."""

    name = "observatory"
    idempotent = True

    def __init__(self, given: Mapping[str, Any]) -> None:
        """Raises ConfigurationError; nothing happens before `start`."""
        self.configuration: Configuration = read_configuration(**given)
        self.scheduler: Any = None
        self.failures = 0

    async def start(self, scheduler: Scheduler) -> None:
        """Begins to report. A scheduler that starts starts its plugins again: that changes nothing."""
        if self.scheduler is not None:
            return
        self.scheduler = scheduler
        self.since = time()
        configuration = self.configuration
        name = configuration.name or scheduler.id
        self.buffer = buffer = Buffer()
        self._transition = buffer.appender("transition")
        self._span = buffer.appender("span")
        self.errors = Errors(scheduler, buffer, self._timed)
        self.lifetimes = WorkerLifetimes(scheduler, buffer)
        self.events = Events(scheduler, buffer, self.errors, self.lifetimes)
        self.graphs = Graphs(scheduler, buffer, configuration.key_edges_limit)
        self.sampler = Sampler(scheduler, buffer, configuration.sample_interval)
        self.worker_messages = WorkerMessages(scheduler, buffer)
        self.client_runs = ClientRuns(scheduler, buffer)
        cluster = Cluster(scheduler.id, name, scheduler.address, _started(scheduler), self.since)
        self.sender = Sender(configuration, cluster, buffer)
        self.listener = Listener(buffer.appender("log"), "scheduler", configuration.log_levels)
        handler.listen(self.listener)
        self.errors.install()
        self.events.install()
        self.worker_messages.install()
        self.client_runs.install()
        scheduler.handlers[UNREGISTER] = self.unregister
        self.lifetimes.install()
        self.sampler.start()
        self.sender.start()
        await self._send_along(configuration)
        log.info("Observatory's agent reports to %s as %r", configuration.url, name)

    async def _send_along(self, configuration: Configuration) -> None:
        """Gives every worker and nanny, and each that will join, its agent."""
        settings = configuration.for_workers()
        scheduler = self.scheduler
        for register, (module, plugin, name) in (
            (scheduler.register_worker_plugin, WORKER),
            (scheduler.register_nanny_plugin, NANNY),
        ):
            payload = pack(module, plugin, settings)
            await register(None, plugin=payload, name=name, idempotent=True)

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        try:
            now = time()
            stimulus = kwargs.get("stimulus_id") or ""
            worker = kwargs.get("worker") or ""
            states = self.sampler.states
            states[start] -= 1
            states[finish] += 1
            if finish == "processing":
                state = self.scheduler.tasks[key].processing_on
                worker = state.address if state is not None else ""
            elif finish == "memory":
                self._timed(key, OK, kwargs)
                self.sampler.held(key)
            elif start == "memory":
                self.sampler.released(key)
            elif finish == "erred":
                self.errors.erred(key, now, kwargs)
            self._transition((now, key, start, finish, worker, stimulus))
        except Exception:  # whatever went wrong, the scheduler goes on
            self._failed("transition")

    def _timed(self, key: Any, status: int, message: Mapping[str, Any]) -> None:
        """The spans of a task that ended, from the worker's message."""
        worker = message.get("worker") or ""
        thread = message.get("thread") or 0
        nbytes = message.get("nbytes") or 0
        typename = message.get("typename") or ""
        append = self._span
        for timed in message.get("startstops") or ():
            action = ACTIONS.get(timed["action"])
            if action is not None:
                start, stop = timed["start"], timed["stop"]
                append((worker, thread, key, action, start, stop, nbytes, typename, status))

    def update_graph(self, scheduler: Scheduler, **kwargs: Any) -> None:
        self._guarded("update_graph", self.graphs.updated, kwargs)

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        self._guarded("add_worker", self.lifetimes.added, worker)

    def remove_worker(self, scheduler: Scheduler, worker: str, **kwargs: Any) -> None:
        self._guarded("remove_worker", self.lifetimes.removed, worker, kwargs.get("stimulus_id") or "")
        self._guarded("remove_worker", self.sampler.forget, worker)

    def add_client(self, scheduler: Scheduler, client: str) -> None:
        self._guarded("add_client", self.events.client, "client-added", client)

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        self._guarded("remove_client", self.events.client, "client-removed", client)
        self._guarded("remove_client", self.client_runs.client_left, client)

    def restart(self, scheduler: Scheduler) -> None:
        self._guarded("restart", self.events.tell, "restarted", "", "the cluster was restarted")

    def log_event(self, topic: str, msg: Any) -> None:
        self._guarded("log_event", self.events.logged, topic, msg)

    async def unregister(self) -> None:
        """Dask's comm handler: leaves the scheduler as it was before `start`."""
        scheduler = self.scheduler
        scheduler.remove_plugin(self.name)
        await scheduler.unregister_worker_plugin(None, WORKER[2])
        await scheduler.unregister_nanny_plugin(None, NANNY[2])
        self.errors.uninstall()
        self.events.uninstall()
        self.worker_messages.uninstall()
        self.client_runs.uninstall()
        del scheduler.handlers[UNREGISTER]
        await self._finish(is_last=False)

    async def before_close(self) -> None:
        """The scheduler closes: what its workers still have to tell has a moment to come."""
        self._guarded("before_close", self.lifetimes.closed)

    async def close(self) -> None:
        """Sends what is left, for a bounded time; what isn't sent then stays in the spool."""
        await self._flush_message_senders()
        await self._finish(is_last=True)

    async def _finish(self, is_last: bool) -> None:
        self._guarded("close", self.sampler.stop)
        self._guarded("close", handler.leave, self.listener)
        close = functools.partial(self.sender.close, self.configuration.close_timeout, is_last)
        await asyncio.get_running_loop().run_in_executor(None, close)

    async def _flush_message_senders(self) -> None:
        """What workers and nannies still have to tell comes now, or not at all."""
        for nanny in (False, True):
            with contextlib.suppress(Exception):
                asked = self.scheduler.broadcast(msg={"op": FLUSH}, nanny=nanny, on_error="ignore")
                await asyncio.wait_for(asked, FLUSHING)

    def _guarded(self, hook: str, function: Callable[..., Any], *arguments: Any) -> None:
        try:
            function(*arguments)
        except Exception:  # whatever went wrong, the scheduler goes on
            self._failed(hook)

    def _failed(self, hook: str) -> None:
        self.failures += 1
        if self.failures == 1:
            log.exception("Observatory's agent failed in %s; further failures are only counted", hook)


def _started(scheduler: Scheduler) -> float:
    started = getattr(scheduler, "time_started", None)
    return started if isinstance(started, float) else time()
