"""Parses /info/main/workers.html, the source for workers while identity.json fails.

distributed puts tuples into the heartbeat metrics of every worker that ran a task since its last heartbeat.
JSON cannot encode them as keys, so `/json/identity.json` answers 500 while the cluster works
(dask/distributed#8370). This page is served from the same data and does not fail. It lacks the scheduler's
id, CPU, managed and spilled memory; the last three are taken from the workers' /metrics meanwhile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from observatory.collect.scheduler.identity import (
    MAXIMUM_INTEGER,
    MAXIMUM_NAME,
    MAXIMUM_WORKERS,
    Heartbeat,
    Identity,
    IdentityError,
    Problems,
    WorkerIdentity,
)
from observatory.wire.records import clean_text
from observatory.wire.workers.processes import process_of_address

SCHEDULER = re.compile(r"^Scheduler\s+(\S{1,300})$")
DASHBOARD = re.compile(r"^\.\./\.\./proxy/(\d{1,5})/([^/\s]{1,253})/status$")
CELLS = 11


@dataclass(slots=True)
class Cell:
    """A table cell: its text, data-sort attribute, progress value and links."""

    text: str = ""
    sort: str = ""
    progress: str = ""
    links: list[str] = field(default_factory=list)


class WorkersPage(HTMLParser):
    """Collects the title and the cells of the table of workers."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.rows: list[list[Cell]] = []
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "tr" and len(self.rows) < MAXIMUM_WORKERS:
            self.rows.append([])
        elif tag == "td" and self.rows:
            self.rows[-1].append(Cell(sort=values.get("data-sort", "")))
        elif tag in {"a", "progress"} and self.rows and self.rows[-1]:
            cell = self.rows[-1][-1]
            cell.links.append(values.get("href", ""))
            cell.progress = values.get("value", "")
        self.inside = {"td": "td", "a": self.inside, "progress": self.inside, "h1": "h1"}.get(tag, "")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "h1"}:
            self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "h1":
            self.title += data
        elif self.inside == "td" and self.rows and self.rows[-1]:
            self.rows[-1][-1].text += data


def read_workers_page(body: bytes, now: float, problems: Problems) -> Identity:
    """Parses the page into an identity without the scheduler's id. `now`: time on the scheduler's clock.

    Raises IdentityError when it is not a scheduler's workers page.
    """
    page = WorkersPage()
    page.feed(body.decode("utf-8", "replace"))
    title = SCHEDULER.match(page.title.strip())
    if title is None:
        raise IdentityError("its workers page is not that of a Dask scheduler")
    read = [read_row(row, now) for row in page.rows if row]
    workers = {worker.address: worker for worker in read if worker is not None}
    if len(workers) < len([row for row in page.rows if row]):
        problems.skip("a row of the workers page")
    threads = sum(worker.nthreads for worker in workers.values())
    return Identity("", clean_text(title[1], MAXIMUM_NAME), 0.0, threads, workers)


def read_row(row: list[Cell], now: float) -> WorkerIdentity | None:
    """One worker of the table; None when the row is malformed."""
    if len(row) < CELLS:
        return None
    address = row[0].text.strip()
    if not 0 < len(address) <= MAXIMUM_NAME or not address.isprintable() or " " in address:
        return None
    dashboard = DASHBOARD.match(row[8].links[0]) if row[8].links else None
    last_seen = now - (decimal(row[10].sort) or 0.0)
    memory = decimal(row[4].progress)
    return WorkerIdentity(
        address=address,
        name=clean_text(row[1].text.strip(), MAXIMUM_NAME),
        host=dashboard[2] if dashboard else "",
        nthreads=min(int(decimal(row[2].text) or 0), 100_000),
        memory_limit=int(decimal(row[3].sort) or 0),
        status="",
        nanny="",
        directory="",
        port=int(dashboard[1]) if dashboard else 0,
        last_seen=last_seen,
        heartbeat=None if memory is None else Heartbeat(last_seen, {PROCESS_MEMORY: memory}),
        process=process_of_address(address),
    )


PROCESS_MEMORY = ("observatory_worker_memory_bytes", "type", "process")


def decimal(text: str) -> float | None:
    """`text` as a number from 0 to 2⁶², else None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= MAXIMUM_INTEGER else None
