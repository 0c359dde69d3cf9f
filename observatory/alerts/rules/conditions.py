"""The conditions of a rule, independent of how they are stored. Used for evaluation, forms and YAML."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import TextChoices

from observatory.alerts.silences.matchers import Matcher


class Function(TextChoices):
    VALUE = "value", "value"
    RATE = "rate", "rate per second over the window"
    CHANGE = "change", "change over the window"


class By(TextChoices):
    """The subjects of alerts."""

    WORKER = "worker", "each worker"
    CLUSTER = "cluster", "the whole cluster"
    SERIES = "series", "each series"


class Aggregate(TextChoices):
    SUM = "sum", "sum"
    MEAN = "mean", "mean"
    MIN = "min", "minimum"
    MAX = "max", "maximum"
    QUANTILE = "quantile", "quantile"


class Attribute(TextChoices):
    """Attributes of workers that a metric can be divided by."""

    MEMORY_LIMIT = "memory_limit", "memory limit (bytes)"
    NTHREADS = "nthreads", "threads"


class Comparison(TextChoices):
    ABOVE = ">", "above"
    AT_LEAST = ">=", "at least"
    BELOW = "<", "below"
    AT_MOST = "<=", "at most"
    EQUAL = "==", "equal to"
    NOT_EQUAL = "!=", "not equal to"
    ABSENT = "absent", "missing"
    """the metric has no data; there is no threshold"""


ORDERED = (Comparison.ABOVE, Comparison.AT_LEAST, Comparison.BELOW, Comparison.AT_MOST)
"""comparisons that can have a clear threshold"""


class Operation(TextChoices):
    """How a metric is combined with another one."""

    DIVIDE = "/", "divided by"
    SUBTRACT = "-", "minus"


class Measure(TextChoices):
    """What of a run is compared with earlier runs of its name."""

    DURATION = "duration", "duration"
    COMPUTE = "compute", "computing time"
    TRANSFER = "transfer", "time of transfers"
    IDLE = "idle", "idle share of the threads"
    MEMORY = "memory", "peak memory"
    TASKS = "tasks", "number of tasks"
    ERRORS = "errors", "number of errors"
    NEW_ERRORS = "new-errors", "errors that earlier runs didn't have"


class NoData(TextChoices):
    RESOLVE = "resolve", "the condition is false"
    KEEP = "keep", "the alert stays as it is"
    FIRE = "fire", "the condition is true"


@dataclass(frozen=True, slots=True)
class Selector:
    """Selects series of a metric by labels. `worker` in matchers is the worker's name."""

    metric: str
    matchers: tuple[Matcher, ...] = ()
    function: Function = Function.VALUE
    window: float = 0.0
    """seconds of a rate or change"""


@dataclass(frozen=True, slots=True)
class MetricCondition:
    """`aggregate by (by) (selector)  operation  other  comparison  threshold`."""

    selector: Selector
    by: By
    aggregate: Aggregate
    comparison: Comparison
    threshold: float
    clear_threshold: float | None = None
    """hysteresis: a firing alert is resolved when the value crosses this; None: the threshold"""
    quantile: float = 0.5
    other: Selector | Attribute | None = None
    """aggregated like the selector; a division by 0 gives no data"""
    operation: Operation = Operation.DIVIDE
    """with the other metric or attribute, which divides or is subtracted"""


@dataclass(frozen=True, slots=True)
class EventCondition:
    """True after `count` or more events in the last `window` seconds, or while a lasting event lasts."""

    event: str
    """one of RULE_EVENTS"""
    by: By
    """WORKER or CLUSTER"""
    count: int = 1
    window: float = 60.0
    pattern: str = ""
    """a regular expression that is searched in the message; "": any message"""
    level: int = 0
    """lowest level of log lines (logging.WARNING is 30)"""


@dataclass(frozen=True, slots=True)
class RunCondition:
    """True after a run ended that differs from the median of earlier runs by more than a share of it.

    The earlier runs are the last finished ones of the same name and project. The subjects are the names of
    runs, as the label `run`. A newer run of the name takes the place of the one before.
    """

    measure: Measure
    comparison: Comparison = Comparison.ABOVE
    """ABOVE or BELOW; without meaning for NEW_ERRORS"""
    threshold: float = 0.2
    """share of the median; 0 for NEW_ERRORS, whose value is their number"""
    earlier: int = 10
    """number of earlier runs"""
    fewest: int = 3
    """with fewer earlier runs it is false"""
    name: str = ""
    """a pattern of the names of runs, such as `etl-*`; "": all"""
    window: float = 3600.0
    """seconds after the end of the run for which it is true"""

    @property
    def by(self) -> By:
        return By.SERIES


AnyCondition = MetricCondition | EventCondition | RunCondition


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """All conditions have to be true for `hold` seconds. The first one determines the subjects.

    A condition over the whole cluster is joined to each subject of the first condition. Conditions for each
    worker are joined by worker, conditions for each series by labels.
    """

    conditions: tuple[AnyCondition, ...]
    hold: float = 0.0
    no_data: NoData = NoData.RESOLVE
