"""Arrays whose chunks are split and merged again, because what follows needs other chunks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration, format_percent
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.thread_times.kinds import FINISHED, ThreadKind
from observatory.why.what_if.without import Shorter, Without

LEAST_SHARE = 0.2
"""of the time of threads while there was something to do"""
WAITING = (ThreadKind.TRANSFER, ThreadKind.READY, ThreadKind.DISK, ThreadKind.SERIALIZATION)


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all tasks that rechunk."""
    found = evidence.computations
    prefixes = [id for id in found.counts if is_rechunking(evidence.prefix(id))]
    rows = np.flatnonzero(np.isin(found.spans.prefix, prefixes))
    if not len(rows):
        return
    times = found.spans.times.where(rows)
    computed = float(found.durations[rows].sum())
    kinds = evidence.time.prefixes
    waited = sum(kinds[id][kind] for id in prefixes if id in kinds for kind in WAITING)
    idle = float(evidence.waits.waited_for(times).sum())
    seconds = computed + waited + idle
    cost = evidence.cost(seconds)
    if seconds < LEAST_SHARE * evidence.waits.active or not evidence.is_worth(cost):
        return
    groups = len(np.unique(found.spans.group[rows]))
    share = format_percent(len(rows) / len(found.spans))
    names = listed([evidence.prefix(id) for id in sorted(prefixes, key=lambda id: -found.counts[id])])
    yield Finding(
        f"{counted(len(rows), 'task')} of {names}, {share} of all, brought arrays into other chunks, for "
        f"{format_duration(seconds)} of threads with the data that they waited for.",
        cost,
        facts(
            ("times that arrays were rechunked, with their steps", f"{groups:,}"),
            ("computing", format_duration(computed)),
            ("waiting for their data and to begin", format_duration(waited)),
            ("idle threads waited for them", format_duration(idle)),
        ),
        (evidence.moment("they begin", float(times.start.min()) / 1e6),),
        evidence.tasks(rows[np.argsort(-found.durations[rows], kind="stable")][:5]),
        prefixes=tuple(prefixes),
        without=Without((Shorter(rows, found.durations[rows]),), transfers=True),
    )


def is_rechunking(prefix: str) -> bool:
    """Whether Dask names its tasks of `rechunk` so: rechunk-merge, rechunk-split, rechunk-p2p …"""
    return prefix == "rechunk" or prefix.startswith("rechunk-")


KIND = FindingKind(
    title="chunk shapes that don't fit",
    advice="Choose chunks once, for what is done most: whole along the axis that is computed over. Load data "
    "in these chunks instead of rechunking it, and order steps so that chunks change once.",
    documentation="https://docs.dask.org/en/stable/array-chunks.html",
    find=find,
    counts=(*FINISHED, *WAITING, ThreadKind.OTHERS),
)
