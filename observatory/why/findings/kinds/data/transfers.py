"""Threads that waited for data from other workers."""

from __future__ import annotations

from collections.abc import Iterator

from observatory.clusters.formatting import format_bytes, format_duration
from observatory.store.queries.windows.findings import Pair
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.texts import facts, listed
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.without import Without

LEAST_SHARE = 0.1
"""of the time of threads while there was something to do"""
NAMED_SHARE = 0.1
"""of the waiting, from which a prefix is named"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all transfers."""
    seconds = evidence.waits.of_kind(ThreadKind.TRANSFER)
    cost = evidence.cost(seconds)
    if seconds < LEAST_SHARE * evidence.waits.active or not evidence.is_worth(cost):
        return
    kinds = evidence.time.prefixes
    waited = {id: kinds[id][ThreadKind.TRANSFER] for id in kinds if kinds[id][ThreadKind.TRANSFER] > 0}
    all_waited = sum(waited.values())
    prefixes = sorted(waited, key=lambda id: -waited[id])
    named = [id for id in prefixes if waited[id] >= NAMED_SHARE * all_waited]
    pairs = evidence.pairs
    nbytes, took = sum(pair.nbytes for pair in pairs), sum(pair.seconds for pair in pairs)
    yield Finding(
        f"Threads waited {format_duration(all_waited)} for data from other workers, for tasks of "
        f"{listed([evidence.prefix(id) for id in named])}: {format_bytes(nbytes)} moved.",
        cost,
        facts(
            ("moved", f"{format_bytes(nbytes)} in {sum(pair.count for pair in pairs):,} transfers"),
            ("bandwidth of a transfer", f"{format_bytes(nbytes / took)}/s" if took else None),
            *((_between(evidence, pair), format_bytes(pair.nbytes)) for pair in pairs[:5]),
            *(
                (f"waited for tasks of {evidence.prefix(id)}", format_duration(waited[id]))
                for id in named[:5]
            ),
        ),
        (evidence.moment("most threads waited", evidence.peak(ThreadKind.TRANSFER)),),
        workers=tuple(dict.fromkeys(pair.receiver for pair in pairs[:5])),
        prefixes=tuple(named),
        without=Without(transfers=True),
    )


def _between(evidence: Evidence, pair: Pair) -> str:
    return f"from {evidence.worker(pair.sender)} to {evidence.worker(pair.receiver)}"


KIND = FindingKind(
    title="waiting for data of other workers",
    advice="Move less: keep tasks that need the same data together (larger chunks, no rechunking to "
    "other shapes), "
    "select columns and rows early, and use fewer and larger workers.",
    documentation="https://distributed.dask.org/en/stable/efficiency.html",
    find=find,
    counts=(ThreadKind.TRANSFER, ThreadKind.OTHERS),
    explained_by=("rechunk",),
)
