"""The trace of a run: a span for the run, and below it one for each action of its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from django.urls import reverse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from observatory.clusters.addresses.public_urls import url_in_message
from observatory.exchange.receivers.otlp.attributes import SCOPE, Resources, Value, attributes
from observatory.exchange.receivers.otlp.identity import Identity
from observatory.exchange.receivers.otlp.selection import Selection
from observatory.runs.models import Run
from observatory.store.queries.windows.errors.run_exceptions import RunException
from observatory.store.queries.windows.tasks.sampled_tasks import SampledSpan
from observatory.store.times import to_microseconds
from observatory.wire.records import Action
from observatory.wire.records import Status as TaskStatus

SAMPLED = 0x01
"""the flag of Trace Context"""
FAILED = {Run.Outcome.ERRED, Run.Outcome.LOST}
COMPUTING = {Action.COMPUTE, Action.LONG_RUNNING}


class TraceOfRun:
    """Makes requests of spans. Holds an id for each task, but no spans."""

    def __init__(
        self,
        run: Run,
        identity: Identity,
        resources: Resources,
        selection: Selection,
        raised: RunException | None = None,
    ) -> None:
        self._run = run
        self._raised = raised
        self._identity = identity
        self._resources = resources
        self._selection = selection
        self._computed: dict[int, bytes] = {}
        """by task: the span of its last computation so far"""
        self.spans = 0

    def root(self) -> ExportTraceServiceRequest:
        """The request with the span of the run."""
        run, identity = self._run, self._identity
        assert run.stop is not None
        span = Span(
            trace_id=identity.trace,
            span_id=identity.root,
            parent_span_id=identity.parent,
            flags=SAMPLED,
            name=run.name,
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=to_microseconds(run.start) * 1000,
            end_time_unix_nano=to_microseconds(run.stop) * 1000,
            attributes=attributes(_of_run(run, len(self._selection.tasks), self._raised)),
            status=_status(
                run.outcome in FAILED, (self._raised and self._raised.text) or run.get_outcome_display()
            ),
        )
        return _request([(self._resources.scheduler, [span])])

    def requests(
        self, batches: Iterable[list[SampledSpan]], messages: Mapping[int, str]
    ) -> Iterator[ExportTraceServiceRequest]:
        """A request for each batch, whose rows are in order of time. `messages`: of failed tasks."""
        for rows in batches:
            by_worker: dict[int, list[Span]] = {}
            for row in rows:
                by_worker.setdefault(row.worker, []).append(self._span(row, messages))
            self.spans += len(rows)
            yield _request([(self._resources.of(worker), spans) for worker, spans in by_worker.items()])

    def _span(self, row: SampledSpan, messages: Mapping[int, str]) -> Span:
        start, stop = to_microseconds(row.start), to_microseconds(row.stop)
        action = Action(row.action)
        id = self._identity.span(row.task, row.worker, start, row.action)
        is_computing = action in COMPUTING
        has_failed = is_computing and row.status == TaskStatus.ERROR
        span = Span(
            trace_id=self._identity.trace,
            span_id=id,
            parent_span_id=self._identity.root,
            flags=SAMPLED,
            name=row.prefix if is_computing else f"{action.label} {row.prefix}",
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=start * 1000,
            end_time_unix_nano=stop * 1000,
            attributes=attributes(self._of_task(row, action)),
            status=_status(has_failed, messages.get(row.task, "")),
        )
        if is_computing:
            span.links.extend(self._links(row.task))
            self._computed[row.task] = id
        return span

    def _links(self, task: int) -> Iterator[Span.Link]:
        """To the computations of what the task needed."""
        for needed in self._selection.needs.get(task, ()):
            if (computed := self._computed.get(needed)) is not None:
                yield Span.Link(trace_id=self._identity.trace, span_id=computed, flags=SAMPLED)

    def _of_task(self, row: SampledSpan, action: Action) -> dict[str, Value]:
        values: dict[str, Value] = {
            "dask.task.key": row.key,
            "dask.task.prefix": row.prefix,
            "dask.task.group": row.group,
            "dask.action": action.label,
            "thread.id": row.lane,
        }
        if action in COMPUTING:
            values |= {"dask.result.size": row.nbytes, "dask.result.type": row.typename}
            if row.key in self._selection.critical:
                values["dask.critical_path"] = True
            if row.key in self._selection.stragglers:
                values["dask.straggler"] = True
        return values


def _of_run(run: Run, sent: int, raised: RunException | None) -> dict[str, Value]:
    tags = {f"dask.run.tag.{name}": str(value) for name, value in run.tags.items()}
    return {
        "observatory.run.url": url_in_message(reverse("run", args=[run.pk])),
        "dask.run.user": run.user,
        "dask.run.outcome": str(run.outcome),
        "dask.run.tasks": run.tasks,
        "dask.run.errors": run.errors,
        "dask.run.sent_tasks": sent,
        "error.type": raised.exception_type if raised else "",
        **tags,
    }


def _status(has_failed: bool, message: str) -> Status:
    if not has_failed:
        return Status(code=Status.STATUS_CODE_UNSET)
    return Status(code=Status.STATUS_CODE_ERROR, message=message)


def _request(found: list[tuple[Resource, list[Span]]]) -> ExportTraceServiceRequest:
    return ExportTraceServiceRequest(
        resource_spans=[
            ResourceSpans(resource=resource, scope_spans=[ScopeSpans(scope=SCOPE, spans=spans)])
            for resource, spans in found
        ]
    )
