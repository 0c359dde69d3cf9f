"""Stores batches of a project's agents, several in one transaction. One is acknowledged after its commit."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from asgiref.sync import async_to_sync

from observatory.clusters.limits.rates import INGEST, TooFast, take
from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_refusals
from observatory.clusters.tokens.models import IngestRefusal, IngestToken
from observatory.collect.agents import metrics
from observatory.collect.agents.batch import batch_of
from observatory.collect.agents.body import Body, BodyError
from observatory.collect.agents.decoding import decode_body
from observatory.collect.agents.series_limits import limit_series
from observatory.collect.agents.tokens import count_refusal
from observatory.collect.agents.writers import writer
from observatory.collect.collector.clusters import registry
from observatory.collect.quarantine.folder import put
from observatory.collect.quarantine.patience import Patience
from observatory.store.connection import database_error
from observatory.store.ingest.agents import AgentRefused
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.publishing.committed import Committed
from observatory.store.ingest.publishing.open_pages import with_open_pages
from observatory.store.ingest.publishing.publication import publish
from observatory.store.ingest.refused_rows import is_caused_by_data, set_aside
from observatory.store.ingest.source_limits import SourceLimit, TooManyInBatch, TooManyNew
from observatory.store.series.sample_intervals import SampleIntervals
from observatory.wire.batches import BatchError
from observatory.wire.dropped_records import DropReason
from observatory.wire.head import Head

log = logging.getLogger(__name__)

RETRY_AFTER = 2
"""seconds"""
DAY = 86_400.0
BEFORE_START = DAY
"""seconds before its scheduler's start in which records may lie: workers may be older, and clocks differ"""
MAXIMUM_FAILING = 1_000
DECODED_AT_ONCE = 2
MOST_RECORDS = 50_000
"""of the batches that are stored together, but for the last of them: so many are in memory"""
SHARE_IN_USE = "the project's other batches take its share: send the batch later"

Reason = IngestRefusal.Reason

_failing: dict[str, tuple[int, Patience]] = {}
"""by agent: the number of its batch that could not be stored"""
_decoding = threading.BoundedSemaphore(DECODED_AT_ONCE)


@dataclass(frozen=True, slots=True)
class Sent:
    """A batch as an agent sent it."""

    read: Callable[[], Body]
    """raises BodyError"""
    address: str
    """the agent's"""


@dataclass(frozen=True, slots=True)
class Answer:
    """To a request that sent a batch."""

    status: int
    content: dict[str, Any]
    retry_after: int | None = None
    """seconds"""


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """A batch that can be stored."""

    sent: Sent
    head: Head
    cluster: Cluster
    is_new: bool
    """the cluster was made for this batch"""
    batch: Batch
    refused: int
    """records that can't be stored, and samples over the limit on series"""


def store(token: IngestToken, sent: Sequence[Sent]) -> list[Answer]:
    """Stores and publishes batches; the answers to them."""
    answers: list[Answer] = []
    waiting: list[ReadBatch | Answer] = []
    for one in sent:
        waiting.append(_read(token, one))
        read = [each for each in waiting if isinstance(each, ReadBatch)]
        if one is sent[-1] or sum(len(each.batch) for each in read) >= MOST_RECORDS:
            written = _written(token, read)
            answers += [each if isinstance(each, Answer) else next(written) for each in waiting]
            waiting.clear()
    return answers


def refused_for_speed(project: Project, length: int) -> Answer | None:
    """The answer to a batch of so many bytes if the project sends more than it may; None: it may."""
    try:
        take(INGEST, project, length)
    except TooFast as error:
        return busy(str(error), error.seconds)
    return None


def busy(detail: str = SHARE_IN_USE, seconds: float = RETRY_AFTER) -> Answer:
    """The project has to wait: the agent keeps the batch and sends it again."""
    metrics.BATCHES.labels("busy").inc()
    return _later(detail, seconds)


def not_stored(error: Exception) -> Answer:
    """Asks the agent to send its batch again. Raises an error that is not the database's."""
    found = database_error(error)
    if found is None:
        raise error
    is_full = isinstance(found, psycopg.errors.DiskFull)
    reason = "the database's disk is full" if is_full else "the database is unavailable"
    metrics.BATCHES.labels("unavailable").inc()
    log.warning("a batch is not stored, %s: %s", reason, " ".join(str(error).split())[:200])
    return Answer(503, {"detail": f"{reason}: send the batch again"}, RETRY_AFTER)


def _read(token: IngestToken, sent: Sent) -> ReadBatch | Answer:
    cluster: Cluster | None = None
    is_new = False
    try:
        with _decoding:
            head, blocks = decode_body(sent.read())
        cluster, is_new = registry.cluster_of_agent(token.project, head)
        batch, unreadable = batch_of(cluster.pk, head, blocks)
        batch, over_limit = limit_series(batch, head.sequence)
    except Exception as error:
        return _refused(token, sent, error, cluster if is_new else None)
    batch = replace(batch, limit=_source_limit(cluster, token.project, head))
    return ReadBatch(sent, head, cluster, is_new, batch, unreadable + over_limit)


def _source_limit(cluster: Cluster, project: Project, head: Head) -> SourceLimit:
    """Records from before retention, or before the scheduler's start, take no partitions."""
    kept_since = time.time() - project.effective_retention_days * DAY
    started = min(cluster.started.timestamp(), head.started)
    return replace(registry.source_of(project), earliest=max(kept_since, started - BEFORE_START))


def _written(token: IngestToken, read: Sequence[ReadBatch]) -> Iterator[Answer]:
    """Writes batches; the answers to them."""
    if not read:
        return
    with writer() as one:
        results = one.write_together([each.batch for each in read])
    stored = [
        (each, result)
        for each, result in zip(read, results, strict=True)
        if not isinstance(result, Exception)
    ]
    try:
        watched, failed = _publish(stored), None
    except Exception as error:
        watched, failed = set(), not_stored(error)
    for each, result in zip(read, results, strict=True):
        if isinstance(result, Exception):
            yield _failed(token, each, result)
        else:
            yield failed or _stored(token, each, result, each.cluster.pk in watched)


def _publish(stored: Sequence[tuple[ReadBatch, Committed]]) -> set[int]:
    """Updates the clusters of batches and publishes these; returns which clusters have open pages."""
    # also of a batch that was stored before: what follows its commit may have failed
    registry.update_from_agents(
        [(each.cluster, max(committed.extent.last, each.head.since), each.head) for each, committed in stored]
    )
    new = [(each.cluster, committed) for each, committed in stored if not committed.already]
    watched = with_open_pages([cluster.pk for cluster, _ in new])
    for cluster, committed in new:
        if cluster.pk in watched:
            intervals = SampleIntervals(cluster.identity_interval, cluster.metrics_interval)
            async_to_sync(publish)(committed, {**cluster.end, "stream": "agent"}, intervals)
    return watched


def _stored(token: IngestToken, read: ReadBatch, committed: Committed, is_watched: bool) -> Answer:
    metrics.BATCHES.labels("already" if committed.already else "stored").inc()
    if not committed.already:
        metrics.count_rows(read.batch, committed)
    left_out = read.refused + committed.refused + committed.dropped.total()
    detail = "; ".join(committed.reasons)
    if detail:
        ingest_refusals.record(Reason.BATCH, detail, read.sent.address, token)
    content = {"sequence": read.head.sequence, "refused": left_out, "already": committed.already}
    found = {"detail": detail, "watched": is_watched}
    return Answer(200, content | {name: value for name, value in found.items() if value})


def _failed(token: IngestToken, read: ReadBatch, error: Exception) -> Answer:
    """The answer to a batch that could not be written."""
    if _refusing_status(error) is None and _has_set_aside(read.batch, error):
        metrics.BATCHES.labels("quarantined").inc()
        return Answer(200, {"sequence": read.head.sequence, "refused": len(read.batch), "already": False})
    return _refused(token, read.sent, error, read.cluster if read.is_new else None)


def _refusing_status(error: Exception) -> int | None:
    """The status that refuses a batch because of this error; None: the batch isn't what is wrong."""
    if isinstance(error, BodyError):
        return error.status
    if isinstance(error, TooManyInBatch | registry.TooManyClusters):
        return 413
    if isinstance(error, TooManyNew):
        return 429
    return 422 if isinstance(error, BatchError | AgentRefused) or is_caused_by_data(error) else None


def _refused(token: IngestToken, sent: Sent, error: Exception, new: Cluster | None) -> Answer:
    """The answer to a batch that is not stored. `new`: the cluster that was made for it, which is deleted."""
    if (status := _refusing_status(error)) is None:
        return not_stored(error)
    if new is not None:
        new.delete()
    reason = str(error).split("\n")[0]
    count_refusal(Reason.BATCH, reason, sent.address, token)
    if isinstance(error, TooManyNew):
        return _later(reason, error.seconds)
    return Answer(status, {"detail": reason})


def _later(detail: str, seconds: float) -> Answer:
    return Answer(429, {"detail": detail}, max(1, math.ceil(seconds)))


def _has_set_aside(batch: Batch, error: Exception) -> bool:
    """Puts a batch that fails for minutes into quarantine, and stores the report of it instead.

    False if it has to wait.
    """
    head = batch.head
    assert head is not None
    known = _failing.get(head.agent)
    if known is None or known[0] != head.sequence:
        if len(_failing) >= MAXIMUM_FAILING:
            _failing.clear()
        known = _failing[head.agent] = head.sequence, Patience()
    if not known[1].is_over(error):
        return False
    lost, report = set_aside(batch, DropReason.QUARANTINED)
    try:
        path = put(lost, error)
    except (OSError, ValueError, TypeError) as problem:
        log.error("a batch cannot be put into quarantine: %s", problem)
        return False
    try:
        with writer() as one:
            one.write(report)
    except Exception:
        path.unlink()
        log.exception("a batch blocks its agent, and cannot be replaced by a report")
        return False
    _failing.pop(head.agent, None)
    return True
