"""What the watchers of one collector share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from observatory.collect.collector.clusters.open_pages import OpenPages
from observatory.collect.collector.clusters.registry import MetricHelps
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.leases.claims import Claims
from observatory.collect.collector.leases.lease import Leases
from observatory.collect.collector.load.admission import Admission
from observatory.collect.collector.load.pace import Pace
from observatory.collect.collector.load.process_load import ProcessLoad
from observatory.collect.collector.status_rows import StatusRows
from observatory.collect.collector.writing.writer_threads import WriterThreads
from observatory.collect.http.fetch import HttpClient


@dataclass(frozen=True, slots=True)
class Shared:
    """Objects shared by the watchers of one collector."""

    client: HttpClient
    claims: Claims
    pages: OpenPages
    leases: Leases
    counters: Counters
    slots: asyncio.Semaphore
    """Limits concurrent requests to workers."""
    load: ProcessLoad
    writers: WriterThreads
    pace: Pace
    rows: StatusRows
    admission: Admission
    helps: MetricHelps
    """For Django's thread."""
