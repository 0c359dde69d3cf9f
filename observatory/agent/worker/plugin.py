"""The agent's worker plugin: records the worker's logs, profiles, transfers, disk and GPUs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import Mapping
from time import time
from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from observatory.agent.batch_systems.systems import job_of_process
from observatory.agent.environment import describe, process_age
from observatory.agent.logs import Listener, handler
from observatory.agent.worker.disk import Disk
from observatory.agent.worker.event_loop import METRIC, OWN_METRIC, EventLoopInterval
from observatory.agent.worker.failures.description import Failures
from observatory.agent.worker.gpus.sampling import Gpus
from observatory.agent.worker.gpus.spilling import GpuSpilling
from observatory.agent.worker.log.message_sender import MessageSender
from observatory.agent.worker.log.write_ahead_log import WriteAheadLog, path_for
from observatory.agent.worker.modules import METRIC as MODULES
from observatory.agent.worker.modules import ImportedModules
from observatory.agent.worker.process import METRIC as PROCESS_NAME
from observatory.agent.worker.process import name_of_process
from observatory.agent.worker.profiles.dask_profiles import Profiles
from observatory.agent.worker.profiles.native_profiles import NativeProfiles
from observatory.agent.worker.profiles.task_threads import METRIC as TASK_THREADS
from observatory.agent.worker.profiles.task_threads import TaskThreads
from observatory.agent.worker.queue_report import QueueReport
from observatory.agent.worker.retirement import Retirement, add_route
from observatory.agent.worker.transfers.shuffle_transfers import ShuffleTransfers
from observatory.agent.worker.transfers.spilled import Spilled
from observatory.agent.worker.transfers.transfer_logs import Transfers
from observatory.wire.event_kinds import NATIVE_PROFILE_REFUSED
from observatory.wire.kinds.spill import REPORTS_SPILLED
from observatory.wire.workers.batch_jobs import BATCH_JOB, BatchJob
from observatory.wire.workers.gpus import COUNT as GPUS
from observatory.wire.workers.processes import PROCESS

FLUSH = "observatory_flush"
URGENT = logging.WARNING


def levels_of(settings: Mapping[str, Any]) -> dict[str, int]:
    """Lowest level by logger."""
    named = {"distributed": settings["log_level"], **settings["loggers"]}
    return {name: logging.getLevelName(str(level).upper()) for name, level in named.items()}


class WorkerAgent(WorkerPlugin):
    name = "observatory-worker"
    idempotent = True

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """`settings`: Configuration.for_workers()."""
        self.settings = settings

    def setup(self, worker: Any) -> None:
        self.worker = worker
        path = path_for(worker.nanny, os.getpid()) if worker.nanny else None
        self.wal = WriteAheadLog(path)
        self.transfers = Transfers(worker)
        self.shuffle_transfers = ShuffleTransfers(worker)
        self.disk = Disk(worker)
        self.spilled = Spilled(worker)
        self.gpus = Gpus(worker, self.settings["sample_interval"])
        self.gpu_spilling = GpuSpilling(worker)
        self.failures = Failures(worker, bool(self.settings.get("error_arguments")))
        self.profiles = Profiles(worker, worker.address)
        self.message_sender = MessageSender(worker, self.wal, lambda: worker.address, self._gather)
        self.listener = Listener(
            self._logged,
            "worker",
            levels_of(self.settings),
            lambda: worker.address,
            clock=self._on_scheduler_clock,
        )
        handler.listen(self.listener)
        worker.handlers[FLUSH] = self.message_sender.flush
        if hasattr(worker, "_tick_counter"):
            interval = EventLoopInterval(worker)
            worker.metrics.update({METRIC: interval, OWN_METRIC: interval.own})
        worker.metrics[TASK_THREADS] = TaskThreads(worker)
        worker.metrics[MODULES] = ImportedModules()
        worker.metrics[PROCESS_NAME] = name_of_process
        worker.metrics[GPUS] = lambda worker: self.gpus.count
        digest = self.settings.get("retire_digest")
        self.retirement = Retirement(worker, digest) if digest else None
        if self.retirement is not None:
            add_route(worker, self.name)
        found = job_of_process()
        self._record_worker(self._description(found[1] if found else None))
        self.gpus.start()
        self.message_sender.start()
        asks = found is not None and self.settings.get("ask_batch_system")
        self.queue_report = QueueReport(*found, self._record_job) if found and asks else None
        if self.queue_report is not None:
            self.queue_report.start()
        self.native_profiles = self._native_profiles() if self.settings.get("native_profile") else None
        if self.native_profiles is not None:
            self.native_profiles.start()

    async def teardown(self, worker: Any) -> None:
        handler.leave(self.listener)
        worker.handlers.pop(FLUSH, None)
        for metric in (METRIC, OWN_METRIC, TASK_THREADS, MODULES, PROCESS_NAME, GPUS):
            worker.metrics.pop(metric, None)
        if self.queue_report is not None:
            self.queue_report.stop()
        self.gpus.stop()
        if self.native_profiles is not None:
            await asyncio.to_thread(self.native_profiles.stop)
        self.shuffle_transfers.close()
        await self.message_sender.stop()

    def transition(self, key: Any, start: str, finish: str, **kwargs: Any) -> None:
        if finish == "error":
            with contextlib.suppress(Exception):  # never disturb the worker
                self.failures.send(key)

    def _on_scheduler_clock(self, time: float) -> float:
        return time + float(getattr(self.worker, "scheduler_delay", 0.0))

    def _logged(self, row: tuple[Any, ...]) -> None:
        self.wal.append("log", row)
        if row[3] >= URGENT:
            self.message_sender.send_soon()

    def _gather(self) -> None:
        delay = float(getattr(self.worker, "scheduler_delay", 0.0))
        for row in self.transfers.rows():
            self.wal.append("transfer", row)
        for row in self.shuffle_transfers.rows(delay):
            self.wal.append("transfer", row)
        for row in self.disk.rows(delay):
            self.wal.append("sample", row)
        for kind, row in self.gpus.rows(delay):
            self.wal.append(kind, row)
        for row in self.gpu_spilling.rows(delay):
            self.wal.append("sample", row)
        for row in self.spilled.rows(delay):
            self.wal.append("spill", row)
        if self.settings["profile"]:
            for row in self.profiles.rows(delay):
                self.wal.append("profile", row)

    def _native_profiles(self) -> NativeProfiles:
        def append(row: tuple[Any, ...]) -> None:
            self.wal.append("profile", (self._on_scheduler_clock(row[0]), *row[1:]))

        return NativeProfiles(self.worker, append, self._refuse_native_profile)

    def _refuse_native_profile(self, reason: str) -> None:
        address = self.worker.address
        detail = {"message": f"no native profile of {address}: {reason}", "reason": reason}
        row = (self._on_scheduler_clock(time()), NATIVE_PROFILE_REFUSED, address, json.dumps(detail))
        self.wal.append("event", row)

    def _description(self, job: BatchJob | None) -> dict[str, Any]:
        worker, detail = self.worker, {**describe("worker"), PROCESS: name_of_process()}
        detail[REPORTS_SPILLED] = self.spilled.is_known
        if worker.nanny:  # otherwise the process may be a client's, or have begun long before the worker
            detail["process_started"] = self._on_scheduler_clock(time() - process_age())
        if job is not None:
            detail[BATCH_JOB] = job.detail()
        return detail

    def _record_job(self, job: BatchJob) -> None:
        """Records more of the job in which the worker runs; the rest of its detail stays."""
        self._record_worker({BATCH_JOB: job.detail()}, self.worker.status.name)

    def _record_worker(self, detail: Mapping[str, Any], status: str = "running") -> None:
        """`status`: plugins are set up just before the worker is running."""
        worker = self.worker
        resources = getattr(worker.state, "total_resources", None) or {}
        self.wal.append(
            "worker",
            (
                self._on_scheduler_clock(time()),
                worker.address,
                str(worker.name),
                worker.ip,
                worker.state.nthreads,
                float(worker.memory_manager.memory_limit or 0),
                status,
                json.dumps(dict(resources), default=str),
                json.dumps(detail, default=str),
            ),
        )
