"""Imports a file. Its format is recognised by its content, not by its name."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from django.conf import settings
from django.db import Error as DatabaseError

from observatory.exchange.bundles.attached_files import attachment_of
from observatory.exchange.bundles.bundle import Bundle
from observatory.exchange.formats.base import Progress
from observatory.exchange.imports import agent_rows, performance_reports, task_streams
from observatory.exchange.imports import cluster_dump_records as dump_records
from observatory.exchange.imports import cluster_dumps as dumps
from observatory.exchange.imports.agent_rows import Report
from observatory.exchange.imports.allowance import Allowance
from observatory.exchange.imports.destination import Destination, make_run, refuse_known
from observatory.exchange.imports.refusal import Refused
from observatory.exchange.imports.unpacking import head_of
from observatory.runs.models import Attachment, Run
from observatory.runs.refresh import refresh_figures
from observatory.store.connection import connect
from observatory.store.transfer.extract_tables import tables
from observatory.store.transfer.loading import Loader, LoadError, new_cluster_id

if TYPE_CHECKING:
    from observatory.exchange.bundles.manifest import ClusterFacts, RunFacts

log = logging.getLogger(__name__)

ZIP = b"PK\x03\x04"
PICKLE = re.compile(rb"\x80[\x02-\x05]")
MSGPACK = re.compile(rb"(?:[\x81-\x8f]|\xde..|\xdf....)[\xa0-\xbf\xd9-\xdb]", re.DOTALL)
"""a map whose first key is a text"""
YAML = re.compile(rb"(?:#[^\n]*\n|---[^\n]*\n|\s)*(?:scheduler|versions|workers):\s")
LIST = re.compile(rb"\s*\[")
PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|!--)", re.IGNORECASE)
RECORDED = re.compile(rb'\s*(?:\{.*?(?:"traceEvents"|speedscope)|\[\s*\{[^]]*?"ph"\s*:)', re.DOTALL)
"""profiles and traces"""
KNOWN = (
    "a bundle of an Observatory, a cluster dump of Dask (msgpack or YAML), "
    "a page of performance_report, or a list of get_task_stream as JSON"
)

Read = Callable[[Path], "tuple[agent_rows.AgentRows, RunFacts, ClusterFacts]"]


def import_file(
    path: Path, destination: Destination, progress: Progress, report: Report = lambda sentence: None
) -> Run:
    """Imports a file and returns its run. After an error nothing of it is stored.

    Calls `report` with sentences on what the file doesn't tell, and on records that were left out.
    Raises Refused with the reason, AlreadyHere, Cancelled, and psycopg.Error.
    """
    size = path.stat().st_size
    if size > settings.IMPORT_LIMIT:
        most = settings.IMPORT_LIMIT >> 20
        raise Refused(f"The file has {size / 2**20:,.0f} MiB: at most {most:,} are imported.")
    head = head_of(path)
    if head.startswith(ZIP):
        run = _import_bundle(path, destination, progress)
    else:
        run = _import_records(path, _reader_of(head), destination, progress, report)
    try:
        refresh_figures(run)
    except (psycopg.Error, DatabaseError):  # sums of absurd numbers
        log.exception("the figures of run %d aren't counted", run.pk)
    return run


def _reader_of(head: bytes) -> Read:
    """The reader of a file with this beginning. Raises Refused."""
    if RECORDED.match(head):
        raise Refused("It is a profile or a trace: attach it to a run, on the run's page Attach.")
    for pattern, read in READERS:
        if pattern.match(head):
            return read
    if PICKLE.match(head):
        raise Refused(
            "It is a pickle, which can run any program when it is read, so that it isn't. "
            "Save the list with json.dump(…, default=str) instead."
        )
    raise Refused("It is empty." if not head else f"It is none of the files that are known: {KNOWN}.")


def _import_bundle(path: Path, destination: Destination, progress: Progress) -> Run:
    run: Run | None = None
    try:
        with Bundle(path) as bundle, connect() as connection, connect() as preparing:
            manifest = bundle.manifest
            refuse_known(destination, bundle.digest)
            cluster = new_cluster_id(preparing)
            with connection.transaction():
                loader = Loader(connection, preparing, cluster)
                rows = 0
                for table in tables():
                    for block in bundle.read(table):
                        loader.load(table, block)
                        rows += block.rows
                        progress(rows / max(bundle.rows, 1))
                loader.close(manifest.run.stop, manifest.cluster.has_agent)
                # the cluster is made before its records: records without a cluster would never be deleted
                workers = loader.ids("worker")
                attachments = [
                    attachment_of(facts, bundle.stacks(number), workers)
                    for number, facts in enumerate(manifest.attachments, 1)
                ]
                run = make_run(
                    destination, bundle.digest, manifest.run, manifest.cluster, manifest.notes, cluster
                )
                _attach(run, attachments)
    except LoadError as error:
        raise Refused(f"The bundle isn't whole: {error}.") from None
    except psycopg.Error:
        if run is not None:  # the commit of the records failed
            run.cluster.delete()
        raise
    return run


def _attach(run: Run, attachments: list[Attachment]) -> None:
    for attachment in attachments:
        attachment.run = run
    Attachment.objects.bulk_create(attachments)
    Run.objects.filter(pk=run.pk).update(attached_files=len(attachments))


def _import_records(
    path: Path, read: Read, destination: Destination, progress: Progress, report: Report
) -> Run:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    refuse_known(destination, digest)
    progress(0.1)
    records, run, cluster = read(path)
    progress(0.5)
    return agent_rows.store(records, digest, run, cluster, destination, report)


def _allowance(path: Path) -> Allowance:
    return Allowance(path.stat().st_size)


READERS: tuple[tuple[re.Pattern[bytes], Read], ...] = (
    (MSGPACK, lambda path: dump_records.records_of(dumps.read_msgpack(path), _allowance(path))),
    (YAML, lambda path: dump_records.records_of(dumps.read_yaml(path), _allowance(path))),
    (PAGE, lambda path: performance_reports.records_of(path, _allowance(path))),
    (LIST, lambda path: task_streams.records_of(task_streams.read_list(path), _allowance(path))),
)
