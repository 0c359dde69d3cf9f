"""Stores what the code of a run raised, as its client tells it."""

from __future__ import annotations

from uuid import uuid4

from observatory.runs.models import Run
from observatory.runs.refresh import end_of
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.event_kinds import RUN_RAISED
from observatory.wire.records import Event


def raise_in(run: Run, exception_type: str, message: str, traceback: str = "") -> None:
    run.code_id, run.outcome = uuid4(), Run.Outcome.ERRED
    run.tags = {**run.tags, "exception": exception_type}
    run.save()
    told = {"run": run.code_id.hex, "exception_type": exception_type, "exception_message": message}
    event = Event(end_of(run).timestamp(), RUN_RAISED, "", {"message": "", "traceback": traceback, **told})
    with Writer() as writer:
        writer.write(Batch.of(run.cluster_id, events=[event]))
