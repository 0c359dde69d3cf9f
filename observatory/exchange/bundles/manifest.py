"""The manifest of a bundle: a JSON file that describes its contents."""

from __future__ import annotations

from typing import Annotated, Literal

from django.core.exceptions import ValidationError as DjangoValidationError
from ninja import Field, Schema
from pydantic import ValidationError

from observatory.exchange.imports.refusal import Refused
from observatory.runs.models import LONGEST_NAME
from observatory.runs.tags import clean_tags
from observatory.store.transfer.extract_tables import tables
from observatory.wire.kind import MAXIMUM_LONG_LENGTH

FORMAT = "dask-observatory-bundle"
VERSION = 1
MOST_NOTES = 10_000
MOST_ATTACHMENTS, MOST_THREADS = 20, 200
EARLIEST, LATEST = 946_684_800, 4_102_444_800

Seconds = Annotated[float, Field(gt=EARLIEST, lt=LATEST, allow_inf_nan=False)]
Interval = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]


class TableFile(Schema):
    """One table's rows, as the file `<table>.blocks`."""

    rows: Annotated[int, Field(ge=0, lt=2**40)]
    bytes: Annotated[int, Field(ge=0, lt=2**48)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class RunFacts(Schema):
    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    start: Seconds
    stop: Seconds
    outcome: Literal["running", "finished", "erred", "lost", "unseen"] = "finished"
    user: Annotated[str, Field(max_length=100)] = ""
    tags: dict[str, str] = {}
    code: Annotated[str, Field(max_length=MAXIMUM_LONG_LENGTH)] = ""


class ClusterFacts(Schema):
    name: Annotated[str, Field(min_length=1, max_length=100)]
    scheduler_id: Annotated[str, Field(max_length=200)]
    address: Annotated[str, Field(max_length=500)] = ""
    started: Seconds
    identity_interval: Interval = 1.0
    metrics_interval: Interval = 5.0
    has_agent: bool = False


class NoteFacts(Schema):
    time: Seconds
    stop: Seconds | None = None
    text: Annotated[str, Field(min_length=1, max_length=2000)]


class ThreadFacts(Schema):
    """A thread of an attached file."""

    process: Annotated[str, Field(max_length=200)]
    name: Annotated[str, Field(max_length=200)]
    worker: Annotated[int, Field(ge=0, lt=2**31)]
    """its id in the bundle, 0: not known"""


class AttachmentFacts(Schema):
    """A profile or a trace that is attached to the run; its stacks are a file of their own."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    format: Literal["speedscope", "trace"]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the file that was attached"""
    start: Seconds
    seconds: Annotated[float, Field(gt=0, le=31 * 86_400, allow_inf_nan=False)]
    is_dated: bool
    threads: Annotated[list[ThreadFacts], Field(max_length=MOST_THREADS)]
    remarks: Annotated[str, Field(max_length=5000)] = ""
    sha256: Annotated[str, Field(pattern=r"^(?:[0-9a-f]{64})?$")] = ""
    """of its stacks"""


class Manifest(Schema):
    format: Literal["dask-observatory-bundle"] = "dask-observatory-bundle"
    version: int = VERSION
    run: RunFacts
    cluster: ClusterFacts
    notes: Annotated[list[NoteFacts], Field(max_length=MOST_NOTES)] = []
    attachments: Annotated[list[AttachmentFacts], Field(max_length=MOST_ATTACHMENTS)] = []
    parts: dict[str, TableFile]
    """by table; tables that were not shared are missing"""


def read_manifest(text: bytes) -> Manifest:
    """Raises Refused."""
    try:
        manifest = Manifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the manifest"
        raise Refused(f"The bundle's manifest can't be read: {where[:200]}: {first['msg'][:200]}.") from None
    if manifest.version != VERSION:
        raise Refused(f"This reads bundles of version {VERSION}, and the file is of {manifest.version}.")
    if manifest.run.stop <= manifest.run.start:
        raise Refused("The bundle's run stops before its start.")
    digests = [attachment.digest for attachment in manifest.attachments]
    if len(set(digests)) < len(digests):
        raise Refused("The bundle has an attached file twice.")
    if unknown := manifest.parts.keys() - {table.name for table in tables()}:
        raise Refused(f"The bundle has parts that aren't known: {', '.join(sorted(unknown))[:200]}.")
    try:
        manifest.run.tags = clean_tags(manifest.run.tags)
    except DjangoValidationError as error:
        raise Refused(f"The bundle's run: {error.messages[0]}") from None
    return manifest
