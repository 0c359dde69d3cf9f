"""`POST /api/v1/ingest`: stores the batches of agents. A batch is acknowledged after its commit."""

from __future__ import annotations

import logging
import math
import threading
import time
from dataclasses import replace
from typing import Annotated

import psycopg
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Query, Router, Schema
from ninja.errors import HttpError
from ninja.security import HttpBearer

from observatory.clusters.limits.rates import INGEST, TooFast, take
from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_refusals, ingest_tokens
from observatory.clusters.tokens.models import IngestRefusal, IngestToken
from observatory.collect.agents import metrics
from observatory.collect.agents.batch import batch_of
from observatory.collect.agents.body import Body, BodyError, length_of, read_body
from observatory.collect.agents.series_limits import limit_series
from observatory.collect.agents.writers import SHARES, writer
from observatory.collect.collector.clusters import registry
from observatory.collect.quarantine.folder import put
from observatory.collect.quarantine.patience import Patience
from observatory.store.blocks.block_size import json_containers, stored_characters
from observatory.store.connection import database_error
from observatory.store.ingest.agents import AgentRefused
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.publishing.committed import Committed
from observatory.store.ingest.publishing.publication import publish_sync
from observatory.store.ingest.refused_rows import is_caused_by_data, set_aside
from observatory.store.ingest.source_limits import SourceLimit, TooManyInBatch, TooManyNew
from observatory.store.places.shares import Busy
from observatory.store.series.sample_intervals import SampleIntervals
from observatory.wire.batches import BatchError, decode_batch
from observatory.wire.blocks import Block
from observatory.wire.dropped_records import DropReason
from observatory.wire.head import Head
from observatory.wire.kind import Type
from observatory.wire.kinds import KINDS

log = logging.getLogger(__name__)

RETRY_AFTER = 2
"""seconds"""
DAY = 86_400.0
BEFORE_START = DAY
"""seconds before its scheduler's start in which records may lie: workers may be older, and clocks differ"""
MAXIMUM_FAILING = 1_000
DECODED_AT_ONCE = 2
FREE_ROWS, ROWS_PER_BYTE = 10_000, 2
"""records of a batch: so many, and so many for each byte received; real ones take over 3 bytes"""
FREE_CONTAINERS, CONTAINERS_PER_BYTE = 20_000, 4
"""JSON objects and lists; real records have one in three bytes"""
FREE_CHARACTERS, CHARACTERS_PER_BYTE = 64_000_000, 1_000
"""of the records' texts as they are stored; an agent's batch has a tenth of it"""
FREE_MEMORY, MEMORY_PER_BYTE = 40 * 2**20, 3
"""bytes of memory that reading a batch may take: so many, or so many for each byte of its unpacked body (that
byte is one of them); an agent's batch has at most some 5 MiB"""

Reason = IngestRefusal.Reason

router = Router(tags=["agents"])
_failing: dict[str, tuple[int, Patience]] = {}
"""by agent: the number of its batch that could not be stored"""
_decoding = threading.BoundedSemaphore(DECODED_AT_ONCE)


class Answer(Schema):
    sequence: int
    refused: int
    """records that cannot be stored"""
    already: bool
    """the batch was stored before"""
    detail: str = ""
    """why records of valid times are refused; missing where none are"""
    watched: bool = False
    """the cluster has open pages; missing where it has none"""


class SameProject(Schema):
    same_project: bool


class Refusal(Schema):
    detail: str


class TokenAuth(HttpBearer):
    def authenticate(self, request: HttpRequest, token: str) -> IngestToken:
        found = ingest_tokens.find(token)
        if found is None:
            revoked = ingest_tokens.find_revoked(token)
            reason = Reason.REVOKED if revoked else Reason.UNKNOWN
            answer = "the ingest token is unknown or revoked: make one on the project's page"
            _count_refusal(request, reason, answer, revoked)
            raise HttpError(401, answer)
        return found


@router.get(
    "/ingest/same-project",
    auth=TokenAuth(),
    response={200: SameProject, 422: Refusal},
    summary="Whether a token of the same project has a SHA-256 digest that begins with these 16 digits",
)
def same_project(
    request: HttpRequest, digest: Annotated[str, Query(pattern=r"^[0-9a-f]{16}$")]
) -> SameProject:
    """Agents ask before they send what another agent of their machine left on its disk."""
    token: IngestToken = request.auth  # type: ignore[attr-defined]
    return SameProject(same_project=ingest_tokens.has_token(token.project, digest))


@router.post(
    "/ingest",
    auth=TokenAuth(),
    response={
        200: Answer,
        400: Refusal,
        413: Refusal,
        415: Refusal,
        422: Refusal,
        429: Refusal,
        503: Refusal,
    },
    summary="Stores a batch of records of an agent (docs/wire-format.md), exactly once",
)
def ingest(request: HttpRequest) -> HttpResponse:
    token: IngestToken = request.auth  # type: ignore[attr-defined]
    project = token.project_id
    try:
        take(INGEST, token.project, length_of(request))
    except TooFast as error:
        metrics.BATCHES.labels("busy").inc()
        return _later(str(error), error.seconds)
    if not SHARES.is_free(project) and not connection.in_atomic_block:
        connection.close()  # those that wait would keep all of this process' connections from its pages
    try:
        with metrics.DURATION.time(), SHARES.place(project):
            return _ingest(request, token)
    except Busy:
        metrics.BATCHES.labels("busy").inc()
        return _later("the project's other batches take its share: send the batch later", RETRY_AFTER)


def _ingest(request: HttpRequest, token: IngestToken) -> HttpResponse:
    cluster: Cluster | None = None
    batch: Batch | None = None
    is_new = False
    try:
        with _decoding:
            head, blocks = decode_body(read_body(request))
        cluster, is_new = registry.cluster_of_agent(token.project, head)
        batch, unreadable = batch_of(cluster.pk, head, blocks)
        committed, refused, is_watched = _store(
            cluster, replace(batch, limit=_source_limit(cluster, token.project, head))
        )
    except BodyError as error:
        _count_refusal(request, Reason.BATCH, str(error), token)
        return _refusal(error.status, str(error))
    except (TooManyInBatch, registry.TooManyClusters) as error:
        _delete_new(cluster, is_new)
        _count_refusal(request, Reason.BATCH, str(error), token)
        return _refusal(413, str(error))
    except TooManyNew as error:
        _delete_new(cluster, is_new)
        _count_refusal(request, Reason.BATCH, str(error), token)
        return _later(str(error), error.seconds)
    except Exception as error:
        if isinstance(error, BatchError | AgentRefused) or is_caused_by_data(error):
            _delete_new(cluster, is_new)
            reason = str(error).split("\n")[0]
            _count_refusal(request, Reason.BATCH, reason, token)
            return _refusal(422, reason)
        if batch is None or not _has_set_aside(batch, error):
            return _not_stored(error)
        metrics.BATCHES.labels("quarantined").inc()
        return _answer(head, len(batch))
    metrics.BATCHES.labels("already" if committed.already else "stored").inc()
    left_out = unreadable + refused + committed.refused + committed.dropped.total()
    detail = "; ".join(committed.reasons)
    if detail:
        ingest_refusals.record(Reason.BATCH, detail, request.META.get("REMOTE_ADDR", ""), token)
    return _answer(head, left_out, committed.already, detail, is_watched)


def _answer(
    head: Head, refused: int, already: bool = False, detail: str = "", is_watched: bool = False
) -> HttpResponse:
    answer = {"sequence": head.sequence, "refused": refused, "already": already}
    found = {"detail": detail, "watched": is_watched}
    return JsonResponse(answer | {name: value for name, value in found.items() if value})


def _not_stored(error: Exception) -> HttpResponse:
    """Asks the agent to send its batch again. Raises an error that is not the database's."""
    if database_error(error) is None:
        raise error
    reason = "the database's disk is full" if _is_disk_full(error) else "the database is unavailable"
    metrics.BATCHES.labels("unavailable").inc()
    log.warning("a batch is not stored, %s: %s", reason, " ".join(str(error).split())[:200])
    answer = _refusal(503, f"{reason}: send the batch again")
    answer["Retry-After"] = str(RETRY_AFTER)
    answer._has_been_logged = True  # type: ignore[attr-defined]  # django.utils.log reads it
    return answer


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


def _delete_new(cluster: Cluster | None, is_new: bool) -> None:
    """Deletes a cluster of which nothing is stored."""
    if cluster is not None and is_new:
        cluster.delete()


def _later(detail: str, seconds: float) -> HttpResponse:
    """The project has to wait: the agent keeps the batch and sends it again."""
    answer = _refusal(429, detail)
    answer["Retry-After"] = str(max(1, math.ceil(seconds)))
    return answer


def _source_limit(cluster: Cluster, project: Project, head: Head) -> SourceLimit:
    """Records from before retention, or before the scheduler's start, take no partitions."""
    kept_since = time.time() - project.effective_retention_days * DAY
    started = min(cluster.started.timestamp(), head.started)
    return replace(registry.source_of(project), earliest=max(kept_since, started - BEFORE_START))


def _count_refusal(
    request: HttpRequest, reason: IngestRefusal.Reason, answer: str, token: IngestToken | None
) -> None:
    metrics.REFUSED.labels(reason.value).inc()
    ingest_refusals.record(reason, answer, request.META.get("REMOTE_ADDR", ""), token)


def _is_disk_full(error: Exception) -> bool:
    """`error`: psycopg's, or Django's, which was caused by it."""
    return isinstance(database_error(error), psycopg.errors.DiskFull)


def decode_body(body: Body) -> tuple[Head, dict[str, Block]]:
    """Raises BatchError, and BodyError for a small body with more records than storing it may cost."""
    unpacked = len(body.data)
    head, blocks = decode_batch(body.data, max(FREE_MEMORY, MEMORY_PER_BYTE * unpacked) - unpacked)
    rows = sum(block.rows for block in blocks.values())
    if rows > FREE_ROWS + ROWS_PER_BYTE * body.sent:
        raise BodyError(413, f"{rows} records in {body.sent} bytes are too many: send smaller batches")
    containers = sum(json_containers(block, _json_fields(name)) for name, block in blocks.items())
    if containers > FREE_CONTAINERS + CONTAINERS_PER_BYTE * body.sent:
        raise BodyError(413, f"the records have {containers} JSON objects and lists: send smaller batches")
    characters = sum(map(stored_characters, blocks.values()))
    if characters > FREE_CHARACTERS + CHARACTERS_PER_BYTE * body.sent:
        raise BodyError(413, f"the records' texts have {characters} characters: send smaller batches")
    return head, blocks


def _json_fields(kind: str) -> list[str]:
    return [field.name for field in KINDS[kind].fields if field.type is Type.JSON] if kind in KINDS else []


def _store(cluster: Cluster, batch: Batch) -> tuple[Committed, int, bool]:
    """Writes and publishes the batch.

    Returns also how many samples were over the limit on series, and whether the cluster has open pages.
    """
    head = batch.head
    assert head is not None
    batch, refused = limit_series(batch, head.sequence)
    with writer() as one:
        committed = one.write(batch)
    # also of a batch that was stored before: what follows its commit may have failed
    newest = max(committed.extent.last, head.since)
    registry.update_from_agent(cluster, newest, head.is_last, head.status.is_over)
    if committed.already:
        return committed, refused, False
    metrics.count_rows(batch, committed)
    return committed, refused, _publish(cluster, committed)


def _publish(cluster: Cluster, committed: Committed) -> bool:
    """Returns whether the cluster has open pages."""
    status = {**cluster.end, "stream": "agent"}
    intervals = SampleIntervals(cluster.identity_interval, cluster.metrics_interval)
    return publish_sync(committed, status, intervals)


def _refusal(status: int, detail: str) -> HttpResponse:
    return JsonResponse({"detail": detail}, status=status)
