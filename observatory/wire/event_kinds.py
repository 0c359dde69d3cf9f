"""Kinds of events. To add one, add an entry here: decoding, rules, tiles and docs follow from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from observatory.wire.dropped_records import MISSING, DropReason
from observatory.wire.workers.departures import DISAPPEARED, LOST, REMOVED, RETIRED, UNKNOWN


class Gap(Enum):
    """What is missing from the recording between an event that opens the gap and one that closes it."""

    SCHEDULER = "scheduler"
    """everything: the scheduler does not answer"""
    STREAM = "stream"
    """the task stream"""
    RECORDS = "records"
    """what the event's detail names, from its `first` to its `last`"""
    SAMPLES = "samples"
    """samples alone, from the detail's `first` to its `last`"""


class DetailType(Enum):
    NUMBER = "number"
    TIME = "time"
    """seconds on the scheduler's clock"""
    WORD = "word"
    """one of some known ones"""
    TEXT = "text"
    """anything that the cluster's code or people wrote: it can contain secrets"""


@dataclass(frozen=True, slots=True)
class Detail:
    """An item of an event's detail that a public link shows; a TEXT if it shares logs and tracebacks."""

    name: str
    type: DetailType
    words: frozenset[str] = frozenset()


def numbers(*names: str) -> tuple[Detail, ...]:
    return tuple(Detail(name, DetailType.NUMBER) for name in names)


def texts(*names: str) -> tuple[Detail, ...]:
    return tuple(Detail(name, DetailType.TEXT) for name in names)


def word(name: str, words: Iterable[str]) -> Detail:
    return Detail(name, DetailType.WORD, frozenset(words))


BOUNDS = Detail("first", DetailType.TIME), Detail("last", DetailType.TIME)
STATUSES = [
    "created",
    "init",
    "starting",
    "running",
    "paused",
    "stopping",
    "stopped",
    "closing",
    "closing_gracefully",
    "failed",
    "closed",
    "undefined",
]
"""names of distributed.core.Status"""
DEPARTURES = word("reason", (LOST, REMOVED, RETIRED, DISAPPEARED, UNKNOWN))
DROPPED = word("reason", map(str, DropReason))


@dataclass(frozen=True, slots=True)
class EventKind:
    name: str
    sentence: str
    """what happened, as people read it; a remark in parentheses may follow"""
    opens: Gap | None = None
    closes: Gap | None = None
    is_failure: bool = False
    """every one has to be found on the timeline: tiles never bin it"""
    is_routine: bool = False
    """comes with all work: those that say the same are one, whatever else of routine is between"""
    from_collector: bool = False
    """only the server reports it, mostly its collectors; an agent that takes over doesn't replace it"""
    details: tuple[Detail, ...] = ()
    """what a public link shows of the detail: an item that is not listed is hidden"""

    @property
    def label(self) -> str:
        """The sentence without its remark."""
        return self.sentence.split(" (")[0]

    @property
    def has_bounds(self) -> bool:
        """Whether it is a gap whose detail has its bounds, which can reach out of a window."""
        return self.opens in (Gap.RECORDS, Gap.SAMPLES)


AGENT_STARTED = "agent-started"
CLIENT_DESCRIBED, CLIENT_REMOVED = "client-described", "client-removed"
GRAPH_UPDATED = "graph-updated"
RUN_RAISED = "run-raised"
RUNS = "runs"
"""in the detail of GRAPH_UPDATED: ids of the runs of client code in which the graph was submitted"""
CLUSTER_ENDED = "cluster-ended"
"""also the reason of the end of workers that nobody saw end"""
WORKER_REMOVED, WORKER_LOST, WORKER_DISAPPEARED = "worker-removed", "worker-lost", "worker-disappeared"
RECORDS_DROPPED = "records-dropped"
NATIVE_PROFILE_REFUSED = "native-profile-refused"
GPU_LOST = "gpu-lost"
SERIES_REFUSED = "series-refused"
PREFIXES_SUMMED = "prefixes-summed"
METRICS_IGNORED = "metrics-ignored"
NOT_RECORDED = (SERIES_REFUSED, PREFIXES_SUMMED, METRICS_IGNORED)
"""kinds that say which metrics are missing, once for a cluster"""
AGENT_SILENT, AGENT_HEARD = "agent-silent", "agent-heard"
COLLECTOR_BEHIND, COLLECTOR_CAUGHT_UP = "collector-behind", "collector-caught-up"

_KINDS = (
    EventKind("worker-added", "a worker joined"),
    EventKind(
        WORKER_REMOVED,
        "a worker left in order (closed or retired)",
        details=(DEPARTURES, *texts("stimulus")),
    ),
    EventKind(
        WORKER_LOST,
        "a worker was lost (it disappeared without closing)",
        is_failure=True,
        details=(DEPARTURES, *texts("stimulus")),
    ),
    EventKind(
        WORKER_DISAPPEARED,
        "a worker disappeared (closed or killed: only the agent can tell)",
        is_failure=True,
        details=(DEPARTURES,),
    ),
    EventKind(
        "worker-status",
        "a worker's status changed (running, paused, closing …)",
        details=tuple(word(name, STATUSES) for name in ("before", "status")),
    ),
    EventKind("client-added", "a client connected", is_routine=True, details=texts("client")),
    EventKind(CLIENT_REMOVED, "a client disconnected", is_routine=True, details=texts("client")),
    EventKind(
        CLIENT_DESCRIBED, "a client that opened a run told its versions and configuration", is_routine=True
    ),
    EventKind(
        GRAPH_UPDATED,
        "a client submitted tasks",
        is_routine=True,
        details=(*numbers("tasks", "nbytes", "seconds"), *texts("client")),
    ),
    EventKind(RUN_RAISED, "the code of a run raised an exception", is_failure=True),
    EventKind("restarted", "the cluster was restarted (`Client.restart`)"),
    EventKind(
        "scheduler-unreachable", "the scheduler stopped answering", opens=Gap.SCHEDULER, from_collector=True
    ),
    EventKind(
        "scheduler-reachable", "the scheduler answers again", closes=Gap.SCHEDULER, from_collector=True
    ),
    EventKind("stream-lost", "the event stream closed or stopped while tasks ran", opens=Gap.STREAM),
    EventKind("stream-resumed", "the event stream is received again", closes=Gap.STREAM),
    EventKind(
        SERIES_REFUSED,
        "new series are refused (a limit on series was reached)",
        from_collector=True,
    ),
    EventKind(PREFIXES_SUMMED, "metrics of prefixes are summed as “others” (there are too many prefixes)"),
    EventKind(METRICS_IGNORED, "some of the workers' own metrics are not recorded"),
    EventKind("tasks-erred", "the number of erred tasks rose", details=numbers("count")),
    EventKind(CLUSTER_ENDED, "the cluster ended (or was last seen at this time)", from_collector=True),
    EventKind(AGENT_STARTED, "the agent started reporting (the recording is complete from here on)"),
    EventKind(
        "worker-restarted",
        "a nanny restarted its worker's process (it ended or was killed)",
        details=(
            *numbers("exitcode", "memory"),
            word("reason", ("", "memory")),
            *texts("signal", "pid", "nanny_pid"),
        ),
    ),
    EventKind(
        NATIVE_PROFILE_REFUSED,
        "a worker has no native profile (py-spy is missing, or may not trace it)",
        details=texts("reason"),
    ),
    EventKind(
        GPU_LOST,
        "a worker's GPU was lost (the driver can't reach it: it fell off the bus, or has to be reset)",
        is_failure=True,
        details=texts("gpu", "model", "device"),
    ),
    EventKind(
        "adaptive-target",
        "adaptive scaling requested another number of workers",
        details=numbers("target", "workers", "before"),
    ),
    EventKind("clock-differs", "a worker's clock differs from the scheduler's", details=numbers("seconds")),
    EventKind(
        "shuffle",
        "a P2P shuffle began or ended",
        is_routine=True,
        details=(
            word("state", ("began", "ended")),
            *numbers("workers", "seconds"),
            *texts("shuffle", "name", "topic", "event"),
        ),
    ),
    EventKind(
        "topic",
        "a message was logged to a Dask topic (`log_event`)",
        is_routine=True,
        details=texts("topic", "event"),
    ),
    EventKind(
        "not-observed",
        "nothing was recorded (no collector observed the cluster)",
        Gap.RECORDS,
        details=(*BOUNDS, *texts("reason")),
    ),
    EventKind(
        RECORDS_DROPPED,
        "records were dropped before they were stored",
        Gap.RECORDS,
        details=(*BOUNDS, word("kind", MISSING), *numbers("count"), DROPPED),
    ),
    EventKind(
        "scraping-slowed",
        "metrics were read less often (records waited for the database)",
        Gap.SAMPLES,
        from_collector=True,
        details=(*BOUNDS, *numbers("factor"), DROPPED),
    ),
    EventKind(
        "worker-metrics-missing",
        "a worker's metrics could not be read (its `/metrics` did not answer)",
        Gap.SAMPLES,
        from_collector=True,
        details=BOUNDS,
    ),
    EventKind(
        "scheduler-metrics-missing",
        "the scheduler's metrics could not be read (its `/metrics` did not answer)",
        Gap.SAMPLES,
        from_collector=True,
        details=BOUNDS,
    ),
    EventKind(AGENT_SILENT, "nothing was heard from the agent for a minute", from_collector=True),
    EventKind(AGENT_HEARD, "the agent was heard again (or the cluster ended)", from_collector=True),
    EventKind(
        COLLECTOR_BEHIND, "the collector's records were stored over a minute late", from_collector=True
    ),
    EventKind(COLLECTOR_CAUGHT_UP, "the collector's records are stored in time again", from_collector=True),
)

EVENT_KINDS = {kind.name: kind for kind in _KINDS}
NEVER_BINNED = frozenset(kind.name for kind in _KINDS if kind.is_failure or kind.opens or kind.closes)
"""events that tiles show one by one, however many there are"""
ROUTINE = tuple(kind.name for kind in _KINDS if kind.is_routine)
FROM_COLLECTOR = tuple(kind.name for kind in _KINDS if kind.from_collector)
