"""The facts that a worker told of its machine, versions, configuration, surroundings and release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from observatory.store.queries.windows.workers.environment import WorkerSpec
from observatory.store.workers.tags import RESOURCE, amount_text
from observatory.wire.workers.batch_jobs import read_batch_job

NO_LIMIT = 2**60
"""bytes: older agents told the number that Linux shows for no limit"""
PYTHON, FINAL = "python", ".final.0"
"""The scheduler tells the version as 3.12.1.final.0."""
LIMIT = "container_memory_limit"
MACHINE = {
    "machine": "machine",
    "cpus": "CPUs seen",
    "platform": "platform",
    LIMIT: "container's memory limit (bytes)",
    PYTHON: "Python",
}
RELEASE = {"name": "release", "digest": "digest of the configuration"}
LONGEST_NAME = 200
KINDS = {
    "labels": "label",
    "versions": "version",
    "surroundings": "environment",
    "configuration": "configuration",
}

SOFTWARE = ("version", "configuration", "release")
"""kinds of facts that scheduler, client and workers should agree on: their machines may differ"""

Fact = tuple[str, str, str]
"""kind (label, hardware, version, environment, configuration or release), name, value as text"""


def facts_of(worker: WorkerSpec) -> Iterator[Fact]:
    yield "hardware", "threads of a worker", str(worker.nthreads)
    yield (
        "hardware",
        "memory limit of a worker (bytes)",
        f"{worker.memory_limit:,}" if worker.memory_limit else "none",
    )
    for name, amount in worker.resources.items():
        yield "hardware", f"{RESOURCE}{name}", amount_text(amount)
    yield from facts_of_process(worker.detail)


def facts_of_process(detail: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield the facts in what the agent told of a process."""
    for name, label in MACHINE.items():
        text = _as_text(detail.get(name))
        if text and not (name == LIMIT and text.isdecimal() and int(text[:30]) >= NO_LIMIT):
            yield "version" if name == PYTHON else "hardware", label, text
    for name, kind in KINDS.items():
        group = detail.get(name)
        for part, value in _flat(group if isinstance(group, Mapping) else {}).items():
            if part != PYTHON or name != "versions":
                yield kind, str(part)[:100], _as_text(value)
            elif not is_described(detail):
                yield kind, MACHINE[PYTHON], _as_text(value).removesuffix(FINAL)
    yield from facts_of_job(detail)
    yield from facts_of_release(detail)


def facts_of_job(detail: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield what a worker in a job of a batch system asked for on its node, which jobs can have alike."""
    job = read_batch_job(detail)
    if job is not None:
        yield "environment", "batch system", job.system
        yield "environment", "queue", job.queue
        yield "hardware", "cores asked on the node", "unknown" if job.cores is None else str(job.cores)
        yield (
            "hardware",
            "memory asked on the node (bytes)",
            "no amount" if job.memory is None else f"{job.memory:,}",
        )


def facts_of_scheduler(detail: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield the facts in what the scheduler's agent told; older ones told the versions of Dask alone."""
    reported = detail.get("versions")
    versions = reported if isinstance(reported, Mapping) else {}
    of_dask = {name: detail[name] for name in ("dask", "distributed") if name in detail}
    return facts_of_process({**detail, "versions": {**of_dask, **versions}})


def facts_of_release(detail: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield what a process that was started with a release told of it; an older agent tells nothing."""
    reported = detail.get("release")
    release: Mapping[str, Any] = reported if isinstance(reported, Mapping) else {}
    for part, label in RELEASE.items():
        if text := _as_text(release.get(part)):
            yield "release", label, text
    values = release.get("values")
    for name, value in (values if isinstance(values, Mapping) else {}).items():
        yield "release", str(name)[:LONGEST_NAME], _as_text(value)


def is_resource(key: tuple[str, str]) -> bool:
    """Whether the fact of this kind and name is one that the scheduler tells of each worker."""
    kind, name = key
    return kind == "hardware" and name.startswith(RESOURCE)


def is_described(detail: Mapping[str, Any]) -> bool:
    """Whether the process itself described its machine, versions, configuration and surroundings."""
    return PYTHON in detail


def _flat(group: Mapping[str, Any]) -> dict[str, Any]:
    """Versions from the scheduler are nested as in Dask, those from the process itself are flat, and win."""
    packages = group.get("packages")
    own = {name: value for name, value in group.items() if not isinstance(value, Mapping)}
    return {**packages, **own} if isinstance(packages, Mapping) else own


def _as_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
