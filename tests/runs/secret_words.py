"""A cluster with three runs, one after the other, that has a word of its own in every text of every kind.

Words tell of which run and which field they are, so that what a public link to the middle one shows can be
searched for those that it should not show.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User

from observatory.alerts.models import Condition
from observatory.alerts.rules.events import ENDED_WITH_ERRORS, RUN_SLOWER
from observatory.clusters.models import Cluster, Project, Target
from observatory.runs.models import Note, Run
from observatory.runs.refresh import refresh_figures
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.event_kinds import EVENT_KINDS, Gap
from observatory.wire.head import Head
from observatory.wire.kind import Kind, Type
from observatory.wire.kinds import KINDS
from observatory.wire.records import (
    Action,
    Event,
    MetricType,
    Sample,
    Series,
    Span,
    WorkerGone,
    WorkerSeen,
)
from observatory.wire.workers.custom_metrics import METRIC as CUSTOM
from tests.support.stored_alerts import make_alert

BEFORE, INSIDE, AFTER = PHASES = "before", "inside", "after"
LENGTH = 30.0
"""seconds of each run; the middle one begins 60 s after the cluster, and 10 s are between two"""
STARTS = {BEFORE: 20.0, INSIDE: 60.0, AFTER: 100.0}
NEVER = "never"
"""phase of the words that are of no time: of projects, people and the cluster"""
TOKEN = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
FIRST, LAST = "first", "last"
"""bounds of a gap that reaches out of each run"""


def word(phase: str, kind: str, name: str) -> str:
    return "zq" + "q".join("".join(part.split("_")).replace("-", "") for part in (phase, kind, name)) + "qz"


def key_of(prefix: str) -> str:
    return f"('{prefix}-{TOKEN}', 0)"


@dataclass
class Recorded:
    """What was recorded, and which words it has."""

    run: Run
    start: float
    stop: float
    began: float
    """the cluster's start; its records end 200 s later"""
    words: set[tuple[str, str, str]] = field(default_factory=set)


class Phase:
    """Makes the records of one run."""

    def __init__(self, name: str, start: float, words: set[tuple[str, str, str]]) -> None:
        self.name, self.start, self.words = name, start, words
        self.worker = f"tcp://{self.word('worker', 'address')}:4000"

    def word(self, kind: str, name: str) -> str:
        self.words.add((self.name, kind, name))
        return word(self.name, kind, name)

    def seen(self) -> WorkerSeen:
        detail = {self.word("worker", "detailname"): self.word("worker", "detail"), "versions": {}}
        labels = {"labels": {self.word("worker", "labelname"): self.word("worker", "label")}}
        return WorkerSeen(
            self.worker,
            self.word("worker", "name"),
            self.word("worker", "host"),
            1,
            10**9,
            self.start - 1,
            "running",
            {self.word("worker", "resources"): 1.0},
            {**detail, **labels},
        )

    def gone(self) -> WorkerGone:
        return WorkerGone(self.worker, self.start + LENGTH + 1, self.word("gone", "reason"))

    def spans(self) -> Iterator[Span]:
        for second in range(int(LENGTH)):
            for number, task in enumerate(("one", "two")):
                yield Span(
                    self.worker,
                    1,
                    self.key(task),
                    self.word("task", task),
                    self.group(task),
                    Action.COMPUTE if second % 3 else Action.TRANSFER,
                    self.start + second + number / 2,
                    self.start + second + number / 2 + 0.4,
                    8,
                    self.word("span", "typename"),
                )

    def key(self, task: str) -> str:
        return key_of(self.word("task", task))

    def group(self, task: str) -> str:
        return f"{self.word('task', task)}-{TOKEN}"

    def samples(self) -> Iterator[Sample]:
        memory = Series("observatory_worker_memory_bytes", (("type", "process"),), self.worker)
        custom = Series(CUSTOM, (("name", self.word("sample", "custom")),), self.worker)
        states = (("state", "memory"), ("task_prefix_name", self.word("sample", "prefix")))
        total = Series("dask_scheduler_prefix_state_totals_total", states, "", MetricType.COUNTER)
        for second in range(int(LENGTH)):
            yield Sample(memory, self.start + second, 1e8)
            yield Sample(custom, self.start + second, 5.0)
            yield Sample(total, self.start + second, float(second))

    def events(self) -> Iterator[Event]:
        for position, kind in enumerate(EVENT_KINDS.values()):
            detail: dict[str, Any] = {
                "message": self.word("event", f"{kind.name}message"),
                self.word("event", "name"): self.word("event", "unlisted"),
                "until": self.start + LENGTH + 3,
                **{item.name: self.word("event", f"{kind.name}{item.name}") for item in kind.details},
            }
            if kind.opens in (Gap.RECORDS, Gap.SAMPLES):
                detail |= {FIRST: self.start - 3, LAST: self.start + LENGTH + 3}
            yield Event(self.start + 1 + position / 2, kind.name, self.worker, detail)

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Rows of all other kinds, by their fields' types: a new field has a word, too."""
        made = {}
        for kind in KINDS.values():
            if kind.name not in {"worker", "gone", "span", "sample", "event", "run", "dropped"}:
                made[kind.name] = [self.row(kind, self.start + second) for second in (2.0, 7.0)]
        return made

    def row(self, kind: Kind, time: float) -> tuple[Any, ...]:
        known = KNOWN.get(kind.name, {})
        later = iter((time, time + 0.5))
        return tuple(
            known[field.name](self)
            if field.name in known
            else next(later)
            if field.type is Type.TIME
            else self.value(kind, field.name, field.type)
            for field in kind.fields
        )

    def value(self, kind: Kind, name: str, type: Type) -> Any:
        if name in ("worker", "peer", "victim", "thief"):
            return self.worker
        if type is Type.KEY:
            return self.key("two" if name == "depends_on" else "one")
        if name == "group":
            return self.group("one")
        if name == "prefix":
            return self.word("task", "one")
        if type in (Type.NAME, Type.TEXT, Type.LONG):
            return self.word(kind.name, name)
        if type is Type.JSON:
            return {self.word(kind.name, f"{name}name"): self.word(kind.name, name)}
        return 1


KNOWN: dict[str, dict[str, Any]] = {
    "transition": {"start": lambda _: "processing", "finish": lambda _: "memory"},
    "error": {"outcome": lambda _: "erred", "workers": lambda of: [of.worker]},
    "log": {"role": lambda _: "worker", "level": lambda _: 30},
    "computation": {
        "groups": lambda of: [[of.group("one"), 9]],
        "spans": lambda of: [of.word("computation", "spans")],
    },
    "group_dependency": {"depends_on": lambda of: of.group("two")},
    "profile": {
        "source": lambda _: "task",
        "stack": lambda of: f"{of.word('profile', 'stack')}\tx.py\t1",
    },
    "transfer": {"keys": lambda of: {of.key("one"): 28}, "direction": lambda _: 0},
    "steal": {"outcome": lambda _: "request"},
    "fine_performance": {"names": lambda of: [of.word("fine_performance", "names")]},
    "shuffle": {"medium": lambda _: "comm"},
    "client_activity": {"run": lambda _: uuid.uuid4().hex, "activity": lambda _: "sending"},
}
"""fields whose values are not any text"""


def record(now: float) -> Recorded:
    """Store the cluster and its runs; `now`: when the cluster starts (seconds)."""
    words: set[tuple[str, str, str]] = set()

    def never(kind: str, name: str) -> str:
        words.add((NEVER, kind, name))
        return word(NEVER, kind, name)

    project = Project.objects.create(name=never("project", "name"), slug=never("project", "slug"))
    target = Target.objects.create(
        project=project,
        name=never("target", "name"),
        url=f"http://{never('target', 'address')}:8787",
        last_error=never("target", "lasterror"),
    )
    cluster = Cluster.objects.create(
        project=project,
        target=target,
        scheduler_id=never("cluster", "schedulerid"),
        name=never("cluster", "name"),
        address=f"tcp://{never('cluster', 'address')}:8786",
        started=from_seconds(now),
        last_seen=from_seconds(now + 200),
        ended=from_seconds(now + 200),
        end_reason=never("cluster", "endreason"),
    )
    phases = [Phase(name, now + STARTS[name], words) for name in PHASES]
    agent = uuid.uuid4().hex
    with Writer() as writer:
        for sequence, phase in enumerate(phases, 1):
            head = Head(agent, sequence, cluster.scheduler_id, "", cluster.address, now, now, now + 300)
            writer.write(
                Batch.of(
                    cluster.pk,
                    [phase.seen()],
                    phase.spans(),
                    phase.samples(),
                    phase.events(),
                    [phase.gone()],
                    committed=now + 300,
                    rows=phase.rows(),
                    head=head,
                )
            )
    runs = {phase.name: _run(cluster, phase, never) for phase in phases}
    _alerts(cluster, phases, never)
    return Recorded(runs[INSIDE], now + STARTS[INSIDE], now + STARTS[INSIDE] + LENGTH, now, words)


def _run(cluster: Cluster, phase: Phase, never: Any) -> Run:
    start = from_seconds(phase.start)
    person = User.objects.create_user(phase.word("run", "person"), password=None)
    run = Run.objects.create(
        cluster=cluster,
        name=phase.word("run", "name"),
        origin="code",
        start=start,
        stop=start + timedelta(seconds=LENGTH),
        user=phase.word("run", "user"),
        tags={phase.word("run", "tagname"): phase.word("run", "tag")},
        code=phase.word("run", "code"),
    )
    refresh_figures(run)
    Note.objects.create(
        cluster=cluster, time=start + timedelta(seconds=3), text=phase.word("note", "text"), author=person
    )
    return run


def _alerts(cluster: Cluster, phases: list[Phase], never: Any) -> None:
    """Of each run one about its events, one about a metric and one about the run, which go on for a while."""
    for phase in phases:
        of_rule = {"description": never("rule", "description"), "advice": never("rule", "advice")}
        texts = {
            "message": phase.word("alert", "message"),
            "labels": {"run": phase.word("run", "name"), "worker": phase.word("alert", "labels")},
            "acknowledgement": phase.word("alert", "acknowledgement"),
            "origin": from_seconds(phase.start),
        }
        conditions = {
            "event": {"kind": Condition.Kind.EVENT, "event": "worker-lost"},
            "metric": {"kind": Condition.Kind.METRIC, "metric": "observatory_worker_memory_bytes"},
            "run": {"kind": Condition.Kind.RUN},
            "slower": {"kind": Condition.Kind.EVENT, "event": RUN_SLOWER.name},
            "ended": {"kind": Condition.Kind.EVENT, "event": ENDED_WITH_ERRORS.name},
        }
        for name, condition in conditions.items():
            at = 3.0 if name in ("event", "metric") else LENGTH
            until = LENGTH - 1 if name == "metric" else 300.0
            alert = make_alert(cluster, phase.word("rule", name), at, at, until, **texts)
            type(alert.rule).objects.filter(pk=alert.rule.pk).update(**of_rule)
            Condition.objects.get_or_create(rule=alert.rule, **condition)
