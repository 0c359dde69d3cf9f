"""Attributes by OpenTelemetry's semantic conventions, and the resources that are described by them.

Source: https://opentelemetry.io/docs/specs/semconv/. What Dask alone has begins with `dask.`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from observatory import __version__
from observatory.runs.models import Run
from observatory.store.queries.windows.tasks.sampled_tasks import Process
from observatory.wire.client_code.ci import BRANCH, COMMIT

Value = str | bool | int | float
LONGEST_TEXT = 1_000
LONGEST_TRACEBACK = 20_000
"""characters, of the end of a traceback"""
SCOPE = InstrumentationScope(name="dask-observatory", version=__version__)
OF_TAGS = {
    BRANCH: "vcs.ref.head.name",
    COMMIT: "vcs.ref.head.revision",
    "environment": "deployment.environment.name",
    "release": "service.version",
}
"""tags of runs that the conventions have a name for"""


def attributes(values: Mapping[str, Value]) -> list[KeyValue]:
    """Texts are cut; those that are empty are left out."""
    return [KeyValue(key=name, value=_value(value)) for name, value in values.items() if value != ""]


def _value(value: Value) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return text(value)


def text(value: str) -> AnyValue:
    return AnyValue(string_value=value[:LONGEST_TEXT])


def long_text(name: str, value: str) -> list[KeyValue]:
    """The attribute for a traceback, whose end says what failed."""
    if not value:
        return []
    return [KeyValue(key=name, value=AnyValue(string_value=value[-LONGEST_TRACEBACK:]))]


class Resources:
    """Describes the processes of a run's cluster: its scheduler and workers."""

    def __init__(self, run: Run, processes: Mapping[int, Process]) -> None:
        self._processes = processes
        self._lifetimes: dict[str, list[Process]] = {}
        """by address, in the order in which they started"""
        for process in processes.values():
            self._lifetimes.setdefault(process.address, []).append(process)
        cluster = run.cluster
        tags = {attribute: str(run.tags[tag]) for tag, attribute in OF_TAGS.items() if tag in run.tags}
        self._shared: dict[str, Value] = {
            "service.namespace": cluster.project.slug,
            "service.name": cluster.name,
            "dask.cluster.id": cluster.scheduler_id,
            **tags,
        }
        self.scheduler = self._resource(cluster.scheduler_id, {"server.address": cluster.address})

    def at(self, address: str, time: datetime) -> Resource:
        """The worker that was at an address; "" is the scheduler's."""
        lifetimes = self._lifetimes.get(address, [])
        started = [process for process in lifetimes if process.started <= time] or lifetimes
        return self.of(started[-1].id) if started else self.scheduler

    def of(self, worker: int) -> Resource:
        process = self._processes.get(worker)
        if process is None:
            return self.scheduler
        pid: dict[str, Value] = {"process.pid": int(process.pid)} if _is_number(process.pid) else {}
        where = {
            "host.name": process.host,
            "dask.worker.name": process.name,
            "dask.worker.address": process.address,
        }
        return self._resource(process.address or process.name or str(worker), {**where, **pid})

    def _resource(self, instance: str, more: Mapping[str, Value]) -> Resource:
        values = {**self._shared, "service.instance.id": instance, **more}
        return Resource(attributes=attributes(values))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10
