"""Runs that something stopped from outside: what they computed was right until then."""

from __future__ import annotations

from collections.abc import Iterator

from observatory.clusters.formatting import format_bytes, format_duration
from observatory.replay.state import tasks_until
from observatory.runs.stops import LOST, Stop
from observatory.store.queries.windows.workers.environment import client_detail_of_run, scheduler_detail
from observatory.store.times import to_microseconds
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.texts import counted, facts
from observatory.wire.client_code.runs import CLIENT_LEFT, SCHEDULER_CLOSED

BEFORE = 100_000
"""microseconds before its client goes, and the tasks with it"""
MEMORY = "observatory_scheduler_memory_bytes"
LOCAL = ("inproc://", "tcp://127.0.0.1:", "tls://127.0.0.1:")
ADVICE_WHEN_LOST = (
    "See what the machine, the pod or the job tells of that process at that time: `dmesg` and `kubectl "
    "describe pod` name one that was killed for its memory, `sacct` the limit of a job. The scheduler of a "
    "LocalCluster ends with the script or the notebook that made it."
)
WITHOUT_AGENT = "Without the agent, one that was closed looks the same."
ADVICE_WHEN_CLOSED = (
    "See who closed it: `Client.shutdown`, `cluster.close()`, a pod or a job that was deleted or reached its "
    "time limit (SIGTERM lets `dask scheduler` close)."
)
ADVICE_WHEN_CLIENT_LEFT = (
    "See how its process ended: `dmesg` and `kubectl describe pod` name one that was killed for its memory; "
    "the kernel of a notebook may have been restarted. A client that loses its connection to the scheduler "
    "is taken for one that went away, too. What `fire_and_forget` and `publish_dataset` keep goes on."
)
ADVICE_AFTER_SIGNAL = (
    "Batch systems send it at a job's time limit, Kubernetes to pods that it deletes or moves, clouds before "
    "they take a machine back: see the events of the job, the pod or the machine."
)


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding where a run, or the work of a cluster, did not end by itself."""
    stop = evidence.stopped
    if stop is None or not evidence.has_end(stop.time.timestamp()):
        return
    left = _tasks_left(evidence, stop)
    if evidence.run is None and not left:
        return
    is_one_process = _is_one_process(evidence, stop)
    what = "run" if evidence.run else "cluster"
    sentence, advice = _described(stop, is_one_process, what, evidence.has_agent)
    yield Finding(
        f"{sentence}{_left_text(left)}.",
        Cost(),
        facts(
            ("how the cluster ended", evidence.scope.cluster.end_reason if stop.reason == LOST else ""),
            ("tasks that were not done", f"{left:,}" if left else None),
            ("its scheduler and its code", "one process" if is_one_process else None),
            ("memory of the scheduler, last", _memory(evidence)),
        ),
        (evidence.moment("it was stopped", stop.time.timestamp()),),
        advice=advice,
    )


def _described(stop: Stop, is_one_process: bool, what: str, has_agent: bool) -> tuple[str, str]:
    """The beginning of the sentence, and the advice. `what` was stopped; an agent tells that it closes."""
    after = f"{format_duration((stop.time - stop.start).total_seconds())} after the {what} began"
    place = ", in the process of the run's code," if is_one_process else f" of the {what}"
    scheduler = f"The scheduler{place}"
    if stop.reason == LOST:
        if not has_agent:
            return f"{scheduler} went away {after}", f"{ADVICE_WHEN_LOST} {WITHOUT_AGENT}"
        return f"{scheduler} ended without closing {after}", ADVICE_WHEN_LOST
    if stop.reason == SCHEDULER_CLOSED:
        return f"{scheduler} closed {after}", ADVICE_WHEN_CLOSED
    if stop.reason == CLIENT_LEFT:
        return f"The client of the run went away {after}", ADVICE_WHEN_CLIENT_LEFT
    process = "run's code and scheduler" if is_one_process else "run's scheduler"
    return f"The process of the {process} got {stop.reason} {after}", ADVICE_AFTER_SIGNAL


def _left_text(left: int) -> str:
    if not left:
        return ""
    return f": {counted(left, 'task')} {'was' if left == 1 else 'were'} not done"


def _tasks_left(evidence: Evidence, stop: Stop) -> int:
    """How many tasks were not done; 0: it isn't known, for example beside those of other runs."""
    if evidence.others:
        return 0
    end = to_microseconds(stop.time) - (BEFORE if stop.reason == CLIENT_LEFT else 0)
    counts = tasks_until(evidence.connection, evidence.scope, end)
    return counts["left"] if counts else 0


def _is_one_process(evidence: Evidence, stop: Stop) -> bool:
    """Whether the run's code has the scheduler in its process, as with a LocalCluster."""
    cluster, run = evidence.scope.cluster, evidence.run
    if run is None or run.code_id is None:
        return False
    scheduler = scheduler_detail(evidence.connection, cluster.pk, stop.time)
    client = client_detail_of_run(evidence.connection, cluster.pk, run.code_id, run.start)
    is_local = cluster.address.startswith(LOCAL)
    return is_local and client.get("pid") is not None and client.get("pid") == scheduler.get("pid")


def _memory(evidence: Evidence) -> str | None:
    found = evidence.samples(MEMORY)
    return format_bytes(float(found.value[-1])) if len(found.value) else None


KIND = FindingKind(
    title="runs that were stopped from outside",
    advice=ADVICE_WHEN_LOST,
    documentation="https://docs.dask.org/en/stable/how-to/debug.html",
    find=find,
    is_failure=True,
)
