"""What a rule asks, apart from where it is written. Evaluator, back-test and YAML speak of these."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import TextChoices

from observatory.alerts.silences.matchers import Matcher


class Function(TextChoices):
    VALUE = "value", "value"
    RATE = "rate", "rate per second over the window"
    CHANGE = "change", "change over the window"


class By(TextChoices):
    """What there is one alert each of."""

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
    """Of workers, that a metric can be divided by."""

    MEMORY_LIMIT = "memory_limit", "memory limit (bytes)"
    NTHREADS = "nthreads", "threads"


class Comparison(TextChoices):
    ABOVE = ">", "above"
    AT_LEAST = ">=", "at least"
    BELOW = "<", "below"
    AT_MOST = "<=", "at most"


class NoData(TextChoices):
    RESOLVE = "resolve", "the condition doesn't hold"
    KEEP = "keep", "stays as it was"
    FIRE = "fire", "the condition holds"


@dataclass(frozen=True, slots=True)
class Selector:
    """Series: of a metric, with labels. `worker` in matchers is the worker's name."""

    metric: str
    matchers: tuple[Matcher, ...] = ()
    function: Function = Function.VALUE
    window: float = 0.0
    """seconds that a rate or change is taken over"""


@dataclass(frozen=True, slots=True)
class MetricCondition:
    """`aggregate by (by) (selector) / divisor  comparison  threshold`."""

    selector: Selector
    by: By
    aggregate: Aggregate
    comparison: Comparison
    threshold: float
    clear_threshold: float | None = None
    """hysteresis: once it held, it holds until this is no more crossed; None: the threshold itself"""
    quantile: float = 0.5
    divisor: Selector | Attribute | None = None
    """aggregated as the selector is; what is divided by 0 is no data"""


@dataclass(frozen=True, slots=True)
class EventCondition:
    """`count` or more of an event in the last `window` seconds.

    Lasting events (a worker is paused) hold as long as they last.
    """

    event: str
    """one of RULE_EVENTS"""
    by: By
    """WORKER or CLUSTER"""
    count: int = 1
    window: float = 60.0
    pattern: str = ""
    """a regular expression, found anywhere in the message; "": any"""
    level: int = 0
    """of log lines, at least (logging.WARNING is 30)"""


AnyCondition = MetricCondition | EventCondition


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """All conditions have to hold for `hold` seconds; the first says what the alerts are of.

    A condition over the whole cluster is joined to each worker or series of the first; two that are each of
    workers (or series) are joined by worker (or labels).
    """

    conditions: tuple[AnyCondition, ...]
    hold: float = 0.0
    no_data: NoData = NoData.RESOLVE
