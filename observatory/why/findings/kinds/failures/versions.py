"""Versions of Python and of packages that differ between the processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from observatory.replay.windows.environment import environment_of
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.texts import counted, facts, listed

IMPORTANT = (
    "Python",
    "dask",
    "distributed",
    "cloudpickle",
    "msgpack",
    "numpy",
    "pandas",
    "pyarrow",
    "toolz",
    "lz4",
)
"""those that take part in sending tasks and results between processes"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all packages. A public link doesn't show versions."""
    environment = environment_of(evidence.connection, evidence.scope, evidence.start, evidence.stop)
    differing = [
        fact
        for fact in environment["facts"]
        if fact["kind"] == "version" and fact["name"] in IMPORTANT and len(_values(fact)) > 1
    ]
    if not differing:
        return
    differing.sort(key=lambda fact: IMPORTANT.index(fact["name"]))
    workers = {id for fact in differing for value in fact["values"][1:] for id in value["workers"]}
    yield Finding(
        f"{counted(len(differing), 'package')} {'has' if len(differing) == 1 else 'have'} different "
        f"versions on the "
        f"processes of this cluster: {listed([fact['name'] for fact in differing])}.",
        Cost(),
        facts(*((fact["name"], evidence.text(_text(fact))) for fact in differing)),
        workers=tuple(sorted(workers)),
    )


def _values(fact: dict[str, Any]) -> set[str]:
    of_scheduler = [fact["scheduler"]] if fact["scheduler"] else []
    return {value["value"] for value in fact["values"] if value["value"]} | set(of_scheduler)


def _text(fact: dict[str, Any]) -> str:
    parts = [
        f"{value['value']} on {counted(value['count'], 'worker')}"
        for value in fact["values"]
        if value["value"]
    ]
    if fact["scheduler"]:
        parts.append(f"{fact['scheduler']} on the scheduler")
    return ", ".join(parts)


KIND = FindingKind(
    title="versions that differ",
    advice="Install the same versions everywhere: differences make tasks fail, or give other results. "
    "`Client.get_versions(check=True)` also compares the client.",
    documentation="https://docs.dask.org/en/stable/deployment-considerations.html",
    find=find,
)
