"""The kinds of records that an agent sends: fields, units, limits, and where Dask keeps what they tell.

docs/wire-format.md is written from here, and a test holds it to that. A record is a tuple in the order of its
kind's fields; a block (blocks.py) holds many of one kind, a column a field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum

from observatory.wire.records import MAXIMUM_KEY_LENGTH, MAXIMUM_TEXT_LENGTH

MAXIMUM_NAME_LENGTH = 500
MAXIMUM_LONG_LENGTH = 100_000


class Type(Enum):
    """What a field holds: what it is called, its block's column type, and for texts the most characters."""

    TIME = ("time", "f64", 0)
    """seconds since the epoch on the scheduler's clock"""
    REAL = ("real", "f64", 0)
    COUNT = ("count", "u32", 0)
    INTEGER = ("integer", "i32", 0)
    CODE = ("code", "u8", 0)
    KEY = ("key", "text", MAXIMUM_KEY_LENGTH)
    """a task's key: a text as it is, anything else as `str` shows it"""
    NAME = ("name", "text", MAXIMUM_NAME_LENGTH)
    TEXT = ("text", "text", MAXIMUM_TEXT_LENGTH)
    LONG = ("long text", "text", MAXIMUM_LONG_LENGTH)
    JSON = ("JSON", "text", MAXIMUM_LONG_LENGTH)
    """an object or a list"""

    @property
    def label(self) -> str:
        return self.value[0]

    @property
    def column(self) -> str:
        return self.value[1]

    @property
    def limit(self) -> int:
        return self.value[2]


class Importance(IntEnum):
    """What is dropped first when neither memory nor disk has room: the least important, oldest first."""

    SAMPLES = 0
    TASKS = 1
    FAILURES = 2


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: Type
    meaning: str
    unit: str = ""
    source: str = ""
    """Dask's attribute, hook or message; "" where it says itself"""


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    importance: Importance
    meaning: str
    fields: tuple[Field, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @property
    def time_index(self) -> int:
        """Where in a row its time is."""
        return next(index for index, field in enumerate(self.fields) if field.type is Type.TIME)


def _kind(name: str, importance: Importance, meaning: str, *fields: Field) -> Kind:
    return Kind(name, importance, meaning, fields)


_TIME, _REAL, _COUNT, _INTEGER, _CODE = Type.TIME, Type.REAL, Type.COUNT, Type.INTEGER, Type.CODE
_KEY, _NAME, _TEXT, _LONG, _JSON = Type.KEY, Type.NAME, Type.TEXT, Type.LONG, Type.JSON

_KINDS = (
    _kind(
        "transition",
        Importance.TASKS,
        "A task changed its state on the scheduler.",
        Field("time", _TIME, "when", "s", "time of the hook"),
        Field("key", _KEY, "the task", "", "SchedulerPlugin.transition key"),
        Field("start", _NAME, "the state before", "", "SchedulerPlugin.transition start"),
        Field("finish", _NAME, "the state after", "", "SchedulerPlugin.transition finish"),
        Field(
            "worker", _NAME, "address of the worker that it concerns, or empty", "", "TaskState.processing_on"
        ),
        Field("stimulus", _NAME, "what caused it", "", "SchedulerPlugin.transition stimulus_id"),
    ),
    _kind(
        "span",
        Importance.TASKS,
        "A timed action of a task on a thread of a worker.",
        Field("worker", _NAME, "address", "", "SchedulerPlugin.transition worker"),
        Field("thread", _REAL, "threading.get_ident on the worker", "", "SchedulerPlugin.transition thread"),
        Field("key", _KEY, "the task", "", "SchedulerPlugin.transition key"),
        Field(
            "action",
            _CODE,
            "0 compute, 1 transfer, 2 disk-read, 3 disk-write, 4 deserialize, 5 serialize",
            "",
            "startstops action",
        ),
        Field("start", _TIME, "when it began", "s", "startstops start"),
        Field("stop", _TIME, "when it ended", "s", "startstops stop"),
        Field("nbytes", _REAL, "size of the result", "B", "SchedulerPlugin.transition nbytes"),
        Field("typename", _NAME, "type of the result", "", "SchedulerPlugin.transition typename"),
        Field("status", _CODE, "0 the task ended well, 1 it erred", "", "SchedulerPlugin.transition finish"),
    ),
    _kind(
        "error",
        Importance.FAILURES,
        "A task failed: each attempt of it.",
        Field("time", _TIME, "when the scheduler learned of it", "s", "time of the message"),
        Field("key", _KEY, "the task", "", "TaskErredMsg.key"),
        Field("worker", _NAME, "address of the worker that it failed on", "", "TaskErredMsg worker"),
        Field(
            "outcome",
            _NAME,
            "erred; retried: another attempt follows; killed: its workers died",
            "",
            "TaskState.retries, KilledWorker",
        ),
        Field("exception_type", _NAME, "name of the exception's class", "", "TaskErredMsg.exception_text"),
        Field("message", _TEXT, "the exception as text", "", "TaskErredMsg.exception_text"),
        Field("traceback", _LONG, "as Python prints it", "", "TaskErredMsg.traceback_text"),
        Field("retries", _COUNT, "attempts that are left", "", "TaskState.retries"),
        Field(
            "workers",
            _JSON,
            "list of the addresses that it failed or died on, in order",
            "",
            "TaskState.erred_on, SchedulerPlugin.remove_worker",
        ),
        Field(
            "dependents",
            _COUNT,
            "tasks that failed with it, since they need it",
            "",
            "TaskState.exception_blame",
        ),
    ),
    _kind(
        "log",
        Importance.FAILURES,
        "A record of Python's logging in a process of the cluster.",
        Field("time", _TIME, "when", "s", "LogRecord.created"),
        Field("role", _NAME, "scheduler, worker or nanny", "", "the agent's own"),
        Field(
            "worker", _NAME, "address of the worker or of the nanny's worker, or empty", "", "Worker.address"
        ),
        Field(
            "level", _INTEGER, "10 debug, 20 info, 30 warning, 40 error, 50 critical", "", "LogRecord.levelno"
        ),
        Field("logger", _NAME, "name of the logger", "", "LogRecord.name"),
        Field("message", _TEXT, "the formatted message", "", "LogRecord.getMessage()"),
        Field("traceback", _LONG, "of the exception that was logged", "", "LogRecord.exc_info"),
        Field("pid", _COUNT, "process", "", "LogRecord.process"),
    ),
    _kind(
        "event",
        Importance.FAILURES,
        "Something that happened once.",
        Field("time", _TIME, "when", "s", "time of the hook"),
        Field(
            "kind",
            _NAME,
            "one of EVENT_KINDS (wire/event_kinds.py)",
            "",
            "the hook, or the action in the event",
        ),
        Field("worker", _NAME, "address, or empty", "", "the hook's worker"),
        Field("detail", _JSON, "object; its `message` is for people", "", "SchedulerPlugin.log_event msg"),
    ),
    _kind(
        "worker",
        Importance.FAILURES,
        "A worker as the scheduler knows it.",
        Field("time", _TIME, "when it was seen", "s", "SchedulerPlugin.add_worker"),
        Field("address", _NAME, "address", "", "WorkerState.address"),
        Field("name", _NAME, "name", "", "WorkerState.name"),
        Field("host", _NAME, "host", "", "WorkerState.host"),
        Field("nthreads", _COUNT, "threads", "", "WorkerState.nthreads"),
        Field("memory_limit", _REAL, "0: none", "B", "WorkerState.memory_limit"),
        Field("status", _NAME, "running, paused, closing_gracefully …", "", "WorkerState.status"),
        Field("resources", _JSON, "object of amounts", "", "WorkerState.resources"),
        Field(
            "detail",
            _JSON,
            "object: versions, pid, directory, instance type …",
            "",
            "WorkerState.versions, WorkerState.pid, WorkerState.local_directory",
        ),
    ),
    _kind(
        "gone",
        Importance.FAILURES,
        "The end of a worker's lifetime.",
        Field("time", _TIME, "when", "s", "SchedulerPlugin.remove_worker"),
        Field("address", _NAME, "address", "", "SchedulerPlugin.remove_worker worker"),
        Field(
            "reason",
            _NAME,
            "removed, retired, lost, killed, cluster-ended",
            "",
            "remove-worker event expected",
        ),
    ),
    _kind(
        "sample",
        Importance.SAMPLES,
        "One value of one series.",
        Field("time", _TIME, "when", "s", "WorkerState.last_seen, or the agent's own tick"),
        Field(
            "value",
            _REAL,
            "the value",
            "as its name says",
            "WorkerState.metrics and what the metric's name says",
        ),
        Field(
            "series",
            _TEXT,
            'JSON: [metric, {label: value}, worker\'s address or "", type]: 1 gauge, 2 counter',
            "",
            "the agent's own",
        ),
    ),
    _kind(
        "computation",
        Importance.TASKS,
        "A graph that a client submitted.",
        Field("time", _TIME, "when", "s", "Computation.start"),
        Field("computation", _NAME, "its id", "", "Computation.id"),
        Field("client", _NAME, "the client's id", "", "SchedulerPlugin.update_graph client"),
        Field("code", _LONG, "the code that submitted it", "", "Computation.code"),
        Field("groups", _JSON, "list of [group, number of tasks]", "", "Computation.groups"),
        Field("annotations", _JSON, "object", "", "SchedulerPlugin.update_graph annotations"),
        Field("spans", _JSON, "list of names, outermost first", "", "Span.name of spans extension"),
    ),
    _kind(
        "group_dependency",
        Importance.TASKS,
        "Tasks of one group need results of another.",
        Field("time", _TIME, "when the computation was submitted", "s", "Computation.start"),
        Field("computation", _NAME, "its id", "", "Computation.id"),
        Field("group", _KEY, "the group that needs", "", "TaskGroup.name"),
        Field("depends_on", _KEY, "the group that is needed", "", "TaskGroup.dependencies"),
        Field("edges", _COUNT, "pairs of tasks", "", "TaskState.dependencies"),
    ),
    _kind(
        "dependency",
        Importance.SAMPLES,
        "A task needs another's result.",
        Field("time", _TIME, "when the computation was submitted", "s", "Computation.start"),
        Field("computation", _NAME, "its id", "", "Computation.id"),
        Field("key", _KEY, "the task that needs", "", "TaskState.key"),
        Field("depends_on", _KEY, "the task that is needed", "", "TaskState.dependencies"),
    ),
    _kind(
        "task",
        Importance.TASKS,
        "What was asked for with a task.",
        Field("time", _TIME, "when the computation was submitted", "s", "Computation.start"),
        Field("computation", _NAME, "its id", "", "Computation.id"),
        Field("key", _KEY, "the task", "", "TaskState.key"),
        Field("priority", _NAME, "Dask's tuple; the smaller the earlier", "", "TaskState.priority"),
        Field("retries", _COUNT, "attempts after the first", "", "TaskState.retries"),
        Field("annotations", _JSON, "object", "", "TaskState.annotations"),
        Field("resources", _JSON, "object of amounts", "", "TaskState.resource_restrictions"),
    ),
    _kind(
        "profile",
        Importance.SAMPLES,
        "How often a stack was seen within a second.",
        Field("time", _TIME, "the second", "s", "Worker.profile_history, Worker.profile_keys_history"),
        Field("worker", _NAME, "address; empty: the scheduler", "", "Worker.address"),
        Field(
            "source",
            _NAME,
            "task: the worker's task threads; event-loop: the process's own",
            "",
            "Worker.profile_recent, Server.profile",
        ),
        Field("prefix", _NAME, "of the task; empty for the event loop", "", "Worker.profile_keys"),
        Field(
            "stack",
            _LONG,
            "a line a frame, outermost first: name, file, line, tab-separated",
            "",
            "profile identifier, description",
        ),
        Field(
            "count", _COUNT, "samples, one each `distributed.worker.profile.interval`", "", "profile count"
        ),
    ),
    _kind(
        "transfer",
        Importance.SAMPLES,
        "Results travelled between two workers.",
        Field("start", _TIME, "when it began", "s", "Worker.transfer_incoming_log start"),
        Field("stop", _TIME, "when it ended", "s", "Worker.transfer_incoming_log stop"),
        Field("worker", _NAME, "address of the worker that tells", "", "Worker.address"),
        Field("peer", _NAME, "address of the other", "", "Worker.transfer_incoming_log who"),
        Field("direction", _CODE, "0 incoming, 1 outgoing", "", "which of the two logs"),
        Field("nbytes", _REAL, "size of the results", "B", "Worker.transfer_incoming_log total"),
        Field(
            "compressed",
            _REAL,
            "bytes on the wire; 0: not told",
            "B",
            "Worker.transfer_outgoing_log compressed",
        ),
        Field(
            "keys",
            _JSON,
            "object: size of each key, the first hundred",
            "B",
            "Worker.transfer_incoming_log keys",
        ),
        Field("count", _COUNT, "keys", "", "Worker.transfer_incoming_log keys"),
    ),
    _kind(
        "steal",
        Importance.SAMPLES,
        "Work stealing: the scheduler asked a worker to give up a task, or learned what became of that.",
        Field("time", _TIME, "when", "s", "stealing event"),
        Field(
            "outcome",
            _NAME,
            "request, confirm, already-computing, reschedule, stale-response, already-aborted",
            "",
            "stealing event",
        ),
        Field("key", _KEY, "the task", "", "stealing event"),
        Field("victim", _NAME, "address of the worker that had it", "", "stealing event"),
        Field("thief", _NAME, "address of the worker that should get it", "", "stealing event"),
        Field("level", _INTEGER, "Dask's level of cost; -1: not told", "", "stealing event"),
        Field("cost", _REAL, "expected", "s", "stealing event"),
        Field("victim_occupancy", _REAL, "work that waits there", "s", "stealing event"),
        Field("thief_occupancy", _REAL, "work that waits there", "s", "stealing event"),
    ),
    _kind(
        "run",
        Importance.FAILURES,
        "A client opened a run, or ended it: `with observatory.run(…)`.",
        Field("time", _TIME, "when the scheduler learned of it", "s", "time of the message"),
        Field("start", _TIME, "when the run was opened", "s", "time of the message"),
        Field("run", _NAME, "its id: 32 hexadecimal digits", "", "observatory.run"),
        Field("outcome", _NAME, "running, finished, erred", "", "observatory.run"),
        Field("name", _NAME, "its name", "", "observatory.run name"),
        Field("tags", _JSON, "object of texts", "", "observatory.run tags"),
        Field("user", _NAME, "the client's user of the operating system", "", "getpass.getuser()"),
        Field("code", _LONG, "the code that opened it", "", "inspect.getsource()"),
        Field("exception_type", _NAME, "of what ended it", "", "observatory.run"),
    ),
    _kind(
        "dropped",
        Importance.FAILURES,
        "Records that the agent had no room to keep.",
        Field("first", _TIME, "of the oldest", "s", "the agent's own"),
        Field("last", _TIME, "of the newest", "s", "the agent's own"),
        Field("kind", _NAME, "which kind", "", "the agent's own"),
        Field("count", _COUNT, "how many", "", "the agent's own"),
        Field(
            "reason",
            _NAME,
            "buffer-full, spool-full; refused: the server didn't take the batch; damaged: its file was; "
            "broken: an error in the agent",
            "",
            "the agent's own",
        ),
    ),
)

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _KINDS}
