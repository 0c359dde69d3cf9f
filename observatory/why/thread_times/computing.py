"""What computing consisted of: waits for the GIL, and the functions in which the profile saw tasks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg

from observatory.replay.scope import Scope, Section
from observatory.store.queries.windows.thread_time import SeenFunction, seen_functions
from observatory.why.findings.observed.samples import read_samples
from observatory.why.records import Records, Spans
from observatory.why.thread_times.gil import CONTENTION, gil_waits
from observatory.why.thread_times.kinds import OWN
from observatory.why.thread_times.thread_time import ThreadTime, sums_by_prefix

MOST_FUNCTIONS = 10


class Computing:
    """What computing consisted of in the window of records. `spans`: the computations."""

    def __init__(self, connection: psycopg.Connection, scope: Scope, records: Records, spans: Spans) -> None:
        self._scope = scope
        cluster, start, stop = scope.cluster.pk, records.start, records.stop
        samples = read_samples(connection, cluster, CONTENTION, (start, stop))
        _, waited = gil_waits(replace(spans, times=spans.times.clipped(start, stop)), samples)
        self.gil: dict[int, float] = dict(sums_by_prefix(spans.prefix, waited))
        """seconds for which tasks of each prefix waited for the GIL"""
        self._is_sampled = bool(np.isin(spans.worker, samples.worker).any())
        self._has_code = Section.CODE in scope.sections
        self._seen = seen_functions(connection, cluster, start, stop) if self._has_code else []

    def answer(self, time: ThreadTime) -> dict[str, Any]:
        seconds = sum(time.seconds[kind] for kind in OWN)
        total = sum(one.count for one in self._seen)
        return {
            "seconds": seconds,
            "gil": min(sum(self.gil.values()), seconds) if self._is_sampled else None,
            "has_code": self._has_code,
            "samples": total,
            "functions": [
                {
                    "name": self._scope.text(name),
                    "file": self._scope.text(file),
                    "line": line,
                    "prefix": prefix,
                    "share": count / total,
                }
                for name, file, line, prefix, count in top_functions(self._seen)
            ],
        }


def top_functions(seen: Sequence[SeenFunction]) -> list[tuple[str, str, int, int | None, int]]:
    """The functions with most samples: name, file, first line, prefix that was in it most often, samples."""
    counts: Counter[tuple[str, str]] = Counter()
    prefixes: defaultdict[tuple[str, str], Counter[int | None]] = defaultdict(Counter)
    lines: dict[tuple[str, str], int] = {}
    for one in seen:
        function = one.name, one.file
        counts[function] += one.count
        prefixes[function][one.prefix] += one.count
        lines[function] = min(one.line, lines.get(function, one.line))
    return [
        (*function, lines[function], prefixes[function].most_common(1)[0][0], count)
        for function, count in counts.most_common(MOST_FUNCTIONS)
    ]
