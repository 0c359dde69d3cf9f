"""Rules, their alerts, notification channels and deliveries, silences and maintenance windows."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from observatory.alerts.notifying.channels import DEFAULT, kind_choices
from observatory.alerts.notifying.message import Change
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    Function,
    Measure,
    NoData,
    Operation,
)
from observatory.clusters.models import Cluster, Project, Target
from observatory.wire.client_code.runs import LONGEST_NAME

DAY = 86_400


class Severity(models.TextChoices):
    INFO = "info", "info"
    WARNING = "warning", "warning"
    CRITICAL = "critical", "critical"


RANKS = {severity: rank for rank, severity in enumerate(Severity.values)}
"""by severity; the most severe has the greatest"""


class Rule(models.Model):
    """An alerting rule: conditions, where it applies and its texts. All conditions have to be true."""

    name = models.CharField(max_length=100)
    key = models.SlugField(
        max_length=60, blank=True, editable=False, help_text="The key of a ready-made rule (ready_made.py)."
    )
    enabled = models.BooleanField(default=True)
    severity = models.CharField(max_length=10, choices=Severity.choices, default=Severity.WARNING)
    description = models.TextField("what it means", blank=True, max_length=2000)
    advice = models.TextField("what to do", blank=True, max_length=2000)
    message = models.CharField(
        "message",
        max_length=500,
        blank=True,
        help_text="With {cluster}, {worker}, {value}, {threshold}, {labels}, {text}.",
    )

    projects = models.ManyToManyField(Project, blank=True, help_text="Empty: all.")
    targets = models.ManyToManyField(Target, blank=True, help_text="Empty: all.")
    cluster_names = models.TextField(
        blank=True, max_length=2000, help_text="One pattern per line, such as etl-* or ?-prod. Empty: all."
    )

    hold_seconds = models.FloatField(
        "for",
        default=0,
        validators=[MinValueValidator(0), MaxValueValidator(DAY)],
        help_text="Seconds for which the conditions have to be true before the alert fires.",
    )
    no_data = models.CharField("without data", max_length=10, choices=NoData.choices, default=NoData.RESOLVE)

    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )
    changed = models.DateTimeField(
        default=now,
        editable=False,
        help_text="Last change of what is evaluated. The rule is evaluated from then on.",
    )
    error = models.CharField(
        max_length=500, blank=True, editable=False, help_text="Why the last evaluation failed."
    )
    error_time = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["key"], condition=~Q(key=""), name="one_rule_a_key"),
        ]

    def __str__(self) -> str:
        return self.name

    def restart_evaluation(self) -> None:
        """After a change of what is evaluated; before it is saved."""
        self.changed = now()
        self.error, self.error_time = "", None


class RuleMade(models.Model):
    """Marks a ready-made rule as created, so that it isn't created again after users delete it."""

    key = models.SlugField(max_length=60, unique=True)

    def __str__(self) -> str:
        return self.key


class Condition(models.Model):
    """A condition of a rule, on a metric, an event or a run (see conditions.py)."""

    class Kind(models.TextChoices):
        METRIC = "metric", "a metric"
        EVENT = "event", "an event"
        RUN = "run", "a run against earlier ones"

    class Other(models.TextChoices):
        NONE = "", "nothing"
        METRIC = "metric", "another metric"
        ATTRIBUTE = "attribute", "a worker's"

    rule = models.ForeignKey(Rule, models.CASCADE, related_name="conditions")
    position = models.PositiveSmallIntegerField(default=0)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.METRIC)

    metric = models.CharField(max_length=200, blank=True)
    labels = models.CharField(max_length=1000, blank=True, help_text='type="managed", worker=~"gpu-.*"')
    function = models.CharField(max_length=10, choices=Function.choices, default=Function.VALUE)
    window_seconds = models.FloatField(
        "window",
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(DAY)],
        help_text="Seconds of a rate, a change or a number of events, or after the end of a run.",
    )
    by = models.CharField("of", max_length=10, choices=By.choices, default=By.WORKER)
    aggregate = models.CharField(max_length=10, choices=Aggregate.choices, default=Aggregate.SUM)
    quantile = models.FloatField(default=0.95, validators=[MinValueValidator(0), MaxValueValidator(1)])
    operation = models.CharField(
        "combined with", max_length=1, choices=Operation.choices, default=Operation.DIVIDE
    )
    other = models.CharField(
        "other value",
        max_length=10,
        choices=Other.choices,
        default=Other.NONE,
        blank=True,
        help_text="What the metric is divided by, or what is subtracted from it.",
    )
    other_metric = models.CharField(max_length=200, blank=True)
    other_labels = models.CharField(max_length=1000, blank=True)
    other_attribute = models.CharField(max_length=20, choices=Attribute.choices, blank=True)
    comparison = models.CharField(max_length=6, choices=Comparison.choices, default=Comparison.ABOVE)
    threshold = models.FloatField(default=0)
    clear_threshold = models.FloatField(
        null=True,
        blank=True,
        help_text="A firing alert is resolved when the value crosses this. Empty: the threshold.",
    )

    event = models.CharField(max_length=40, blank=True, help_text="The event, for conditions on events.")
    pattern = models.CharField(
        max_length=500, blank=True, help_text="A regular expression that is searched in the message."
    )
    level = models.PositiveSmallIntegerField(
        default=0, help_text="The lowest level of log lines; 30 is WARNING."
    )
    count = models.PositiveIntegerField("at least", default=1, validators=[MinValueValidator(1)])

    measure = models.CharField(
        max_length=10,
        choices=Measure.choices,
        default=Measure.DURATION,
        help_text="The figure of a run that is compared, for conditions on runs.",
    )
    run_name = models.CharField(max_length=LONGEST_NAME, blank=True, help_text="A pattern, such as etl-*.")
    earlier_runs = models.PositiveSmallIntegerField(
        default=10, help_text="Number of earlier runs that a run is compared with."
    )
    fewest_runs = models.PositiveSmallIntegerField(
        default=3, help_text="A run with fewer earlier runs isn't judged."
    )

    class Meta:
        ordering = ["position", "pk"]

    def __str__(self) -> str:
        return self.metric or self.event or self.measure


class Alert(models.Model):
    """An alert of one rule, cluster and label set. A pending alert that doesn't fire is deleted."""

    class State(models.TextChoices):
        PENDING = "pending", "pending"
        FIRING = "firing", "firing"
        RESOLVED = "resolved", "resolved"

    rule = models.ForeignKey(Rule, models.CASCADE, related_name="alerts")
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="alerts")
    severity = models.CharField(
        max_length=10, choices=Severity.choices, help_text="The rule's severity when the alert fired."
    )
    worker_id = models.IntegerField(
        null=True, blank=True, help_text="The worker's lifetime in the store, for alerts of a worker."
    )
    labels = models.JSONField(default=dict, help_text="Values by name; `worker` is the worker's name.")
    fingerprint = models.CharField(max_length=32, help_text="A hash of rule, cluster, worker and labels.")
    state = models.CharField(max_length=10, choices=State.choices)
    pending = models.DateTimeField(help_text="When the conditions became true, on the scheduler's clock.")
    fired = models.DateTimeField(null=True, blank=True, help_text="On the scheduler's clock.")
    resolved = models.DateTimeField(null=True, blank=True, help_text="On the scheduler's clock.")
    value = models.FloatField(null=True, help_text="The value of the first condition when the alert fired.")
    last_value = models.FloatField(null=True, help_text="The latest value of the first condition.")
    message = models.CharField(max_length=1000, blank=True)
    finding = models.TextField(
        blank=True, help_text="The sentence of the first finding around it when it was first notified."
    )
    is_late = models.BooleanField(
        default=False, help_text="Caused by data that arrived after its time was evaluated."
    )
    acknowledged = models.DateTimeField(null=True, blank=True, help_text="On our clock.")
    acknowledged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    acknowledgement = models.CharField("note", max_length=1000, blank=True)

    class Meta:
        ordering = ["-pending", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["fingerprint"], condition=~Q(state="resolved"), name="one_open_alert_a_label_set"
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "pending"]),
            models.Index(fields=["rule", "pending"]),
            models.Index(fields=["cluster"], condition=~Q(state="resolved"), name="alerts_open"),
        ]

    def __str__(self) -> str:
        return self.message or str(self.rule)

    @property
    def is_firing(self) -> bool:
        return self.state == self.State.FIRING


class Progress(models.Model):
    """The time up to which a cluster has been evaluated."""

    cluster = models.OneToOneField(Cluster, models.CASCADE, primary_key=True, related_name="progress")
    until = models.DateTimeField(help_text="On the scheduler's clock.")
    settled = models.DateTimeField(help_text="The data before this time was complete when it was evaluated.")
    is_over = models.BooleanField(
        default=False, help_text="The cluster has ended and its last alert is resolved."
    )

    class Meta:
        verbose_name_plural = "progress"

    def __str__(self) -> str:
        return f"{self.cluster} until {self.until}"


class Channel(models.Model):
    """Where notifications are sent. The address has secrets: secrets.py encrypts it."""

    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=15, choices=kind_choices, default=DEFAULT)
    secret = models.TextField(editable=False, help_text="The address, encrypted.")
    enabled = models.BooleanField(default=True)
    minimum_severity = models.CharField(max_length=10, choices=Severity.choices, default=Severity.WARNING)
    projects = models.ManyToManyField(Project, blank=True, help_text="Empty: all.")
    rules = models.ManyToManyField(Rule, blank=True, help_text="Empty: all.")
    tells_resolved = models.BooleanField("notify when resolved", default=True)
    messages_an_hour = models.PositiveIntegerField(
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(3600)],
        help_text="Further alerts wait and are sent together.",
    )
    repeat_hours = models.PositiveIntegerField(
        default=0,
        validators=[MaxValueValidator(24 * 30)],
        help_text="Hours after which unacknowledged firing alerts are sent again. 0: never.",
    )
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """A notification of a channel about a change of an alert, and its state.

    Created in the transaction that changes the alert.
    """

    class State(models.TextChoices):
        DUE = "due", "due"
        SENDING = "sending", "sending"
        SENT = "sent", "sent"
        FAILED = "failed", "failed"
        UNNEEDED = "unneeded", "no longer needed"

    channel = models.ForeignKey(Channel, models.CASCADE, related_name="deliveries")
    alert = models.ForeignKey(Alert, models.CASCADE, related_name="deliveries")
    change = models.CharField(max_length=10, choices=Change.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DUE)
    created = models.DateTimeField(auto_now_add=True)
    due = models.DateTimeField(default=now, help_text="Earliest time to send, on our clock.")
    attempts = models.PositiveSmallIntegerField(default=0)
    last_error = models.CharField(max_length=500, blank=True)
    message_id = models.UUIDField(null=True, help_text="The message that it is part of.")
    sent = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created", "-pk"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["channel", "alert", "change"],
                condition=~Q(change="reminder"),
                name="one_delivery_a_change",
            )
        ]
        indexes = [models.Index(fields=["due"], condition=Q(state__in=["due", "sending"]), name="alerts_due")]

    def __str__(self) -> str:
        return f"{self.alert} to {self.channel}: {self.change}"


class Silence(models.Model):
    """Suppresses the notifications of matching alerts until it expires."""

    matchers = models.CharField(
        max_length=1000,
        help_text='rule="Worker lost", cluster=~"dev-.*"; also severity, project, target.',
    )
    projects = models.ManyToManyField(Project, blank=True, help_text="Empty: all.")
    starts = models.DateTimeField(default=now)
    expires = models.DateTimeField()
    comment = models.CharField(max_length=1000)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )

    class Meta:
        ordering = ["-expires"]

    def __str__(self) -> str:
        return self.comment[:60]


class MaintenanceWindow(models.Model):
    """Suppresses all notifications of projects or targets, once or repeatedly."""

    class Repeat(models.TextChoices):
        NEVER = "never", "once"
        DAILY = "daily", "every day"
        WEEKLY = "weekly", "every week"

    name = models.CharField(max_length=100)
    projects = models.ManyToManyField(Project, blank=True, help_text="Empty: all.")
    targets = models.ManyToManyField(Target, blank=True, help_text="Empty: all.")
    starts = models.DateTimeField()
    stops = models.DateTimeField()
    repeat = models.CharField(max_length=10, choices=Repeat.choices, default=Repeat.NEVER)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )

    class Meta:
        ordering = ["-starts"]

    def __str__(self) -> str:
        return self.name
