"""Rules, the alerts that they raise, the channels that tell of them, and when they are kept quiet."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    Function,
    NoData,
)
from observatory.clusters.models import Cluster, Project, Target

DAY = 86_400


class Severity(models.TextChoices):
    INFO = "info", "info"
    WARNING = "warning", "warning"
    CRITICAL = "critical", "critical"


RANKS = {severity: rank for rank, severity in enumerate(Severity.values)}
"""the worst has the greatest"""


class Rule(models.Model):
    """What to watch for, where, and what to say of it. It holds while all of its conditions hold."""

    name = models.CharField(max_length=100, unique=True)
    key = models.SlugField(
        max_length=60, blank=True, editable=False, help_text="Of a ready-made rule (ready_made.py)."
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

    projects = models.ManyToManyField(Project, blank=True, help_text="None: all.")
    targets = models.ManyToManyField(Target, blank=True, help_text="None: all.")
    cluster_names = models.TextField(
        blank=True, max_length=2000, help_text="A pattern a line: etl-*, or ?-prod. None: all."
    )

    hold_seconds = models.FloatField(
        "for",
        default=0,
        validators=[MinValueValidator(0), MaxValueValidator(DAY)],
        help_text="Seconds that the conditions have to hold before the alert fires.",
    )
    no_data = models.CharField("without data", max_length=10, choices=NoData.choices, default=NoData.RESOLVE)

    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )
    changed = models.DateTimeField(
        default=now, editable=False, help_text="When what it asks was changed last: it is asked from then on."
    )
    error = models.CharField(
        max_length=500, blank=True, editable=False, help_text="Why it couldn't be evaluated last."
    )
    error_time = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["key"], condition=~Q(key=""), name="one_rule_a_key"),
        ]

    def __str__(self) -> str:
        return self.name


class RuleMade(models.Model):
    """A ready-made rule that was made once: it isn't made again when people delete it."""

    key = models.SlugField(max_length=60, unique=True)

    def __str__(self) -> str:
        return self.key


class Condition(models.Model):
    """One condition of a rule: on a metric, or on something that happens (see conditions.py)."""

    class Kind(models.TextChoices):
        METRIC = "metric", "a metric"
        EVENT = "event", "something that happens"

    class Divisor(models.TextChoices):
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
        help_text="Seconds that a rate, a change or the number of events is taken over.",
    )
    by = models.CharField("of", max_length=10, choices=By.choices, default=By.WORKER)
    aggregate = models.CharField(max_length=10, choices=Aggregate.choices, default=Aggregate.SUM)
    quantile = models.FloatField(default=0.95, validators=[MinValueValidator(0), MaxValueValidator(1)])
    divisor = models.CharField(
        "divided by", max_length=10, choices=Divisor.choices, default=Divisor.NONE, blank=True
    )
    divisor_metric = models.CharField(max_length=200, blank=True)
    divisor_labels = models.CharField(max_length=1000, blank=True)
    divisor_attribute = models.CharField(max_length=20, choices=Attribute.choices, blank=True)
    comparison = models.CharField(max_length=2, choices=Comparison.choices, default=Comparison.ABOVE)
    threshold = models.FloatField(default=0)
    clear_threshold = models.FloatField(
        null=True,
        blank=True,
        help_text="Once it held, it holds until this is crossed back. None: the threshold.",
    )

    event = models.CharField(max_length=40, blank=True, help_text="What happens, of an event's condition.")
    pattern = models.CharField(
        max_length=500, blank=True, help_text="A regular expression, found anywhere in the message."
    )
    level = models.PositiveSmallIntegerField(default=0, help_text="Of log lines, at least: 30 is WARNING.")
    count = models.PositiveIntegerField("at least", default=1, validators=[MinValueValidator(1)])

    class Meta:
        ordering = ["position", "pk"]

    def __str__(self) -> str:
        return self.metric or self.event


class Alert(models.Model):
    """What a rule found of one cluster and label set: from when it was pending until it was resolved.

    A pending one that doesn't come to fire is deleted.
    """

    class State(models.TextChoices):
        PENDING = "pending", "pending"
        FIRING = "firing", "firing"
        RESOLVED = "resolved", "resolved"

    rule = models.ForeignKey(Rule, models.CASCADE, related_name="alerts")
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="alerts")
    severity = models.CharField(
        max_length=10, choices=Severity.choices, help_text="The rule's, when it fired."
    )
    worker_id = models.IntegerField(
        null=True, blank=True, help_text="The lifetime in the store, if it is of one."
    )
    labels = models.JSONField(default=dict, help_text="Texts by name; `worker` is the worker's name.")
    fingerprint = models.CharField(max_length=32, help_text="Of rule, cluster, worker and labels.")
    state = models.CharField(max_length=10, choices=State.choices)
    pending = models.DateTimeField(help_text="Since when the conditions hold, on the scheduler's clock.")
    fired = models.DateTimeField(null=True, blank=True, help_text="On the scheduler's clock.")
    resolved = models.DateTimeField(null=True, blank=True, help_text="On the scheduler's clock.")
    value = models.FloatField(null=True, help_text="Of the first condition, when it fired.")
    last_value = models.FloatField(null=True, help_text="Of the first condition, when it was evaluated last.")
    message = models.CharField(max_length=1000, blank=True)
    is_late = models.BooleanField(
        default=False, help_text="Found in data that came after its time had been evaluated."
    )
    acknowledged = models.DateTimeField(null=True, blank=True, help_text="By our clock.")
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
    """How far a cluster has been evaluated."""

    cluster = models.OneToOneField(Cluster, models.CASCADE, primary_key=True, related_name="progress")
    until = models.DateTimeField(help_text="On the scheduler's clock.")
    settled = models.DateTimeField(
        help_text="Before it all data was there when it was evaluated; what comes later is late."
    )
    is_over = models.BooleanField(default=False, help_text="It ended, and its last alert is resolved.")

    class Meta:
        verbose_name_plural = "progress"

    def __str__(self) -> str:
        return f"{self.cluster} until {self.until}"


class Channel(models.Model):
    """Where to tell of alerts. Its address holds secrets: secrets.py encrypts it."""

    class Kind(models.TextChoices):
        APPRISE = "apprise", "Slack, e-mail, Teams, PagerDuty … (an Apprise URL)"
        WEBHOOK = "webhook", "a webhook that takes Alertmanager's payload"
        ALERTMANAGER = "alertmanager", "Alertmanager"

    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=15, choices=Kind.choices, default=Kind.APPRISE)
    secret = models.TextField(editable=False, help_text="The address, encrypted.")
    enabled = models.BooleanField(default=True)
    minimum_severity = models.CharField(max_length=10, choices=Severity.choices, default=Severity.WARNING)
    projects = models.ManyToManyField(Project, blank=True, help_text="None: all.")
    rules = models.ManyToManyField(Rule, blank=True, help_text="None: all.")
    tells_resolved = models.BooleanField("tells of what is resolved too", default=True)
    messages_an_hour = models.PositiveIntegerField(
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(3600)],
        help_text="Beyond it alerts wait, and are told together.",
    )
    repeat_hours = models.PositiveIntegerField(
        default=0,
        validators=[MaxValueValidator(24 * 30)],
        help_text="Hours after which what fires, unacknowledged, is told again. 0: never.",
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
    """That a channel is to be told of a change of an alert, and what became of it.

    Made in the transaction that changes the alert.
    """

    class Change(models.TextChoices):
        FIRING = "firing", "firing"
        RESOLVED = "resolved", "resolved"
        REMINDER = "reminder", "still firing"

    class State(models.TextChoices):
        DUE = "due", "due"
        SENDING = "sending", "being sent"
        SENT = "sent", "sent"
        FAILED = "failed", "given up"
        UNNEEDED = "unneeded", "not needed any more"

    channel = models.ForeignKey(Channel, models.CASCADE, related_name="deliveries")
    alert = models.ForeignKey(Alert, models.CASCADE, related_name="deliveries")
    change = models.CharField(max_length=10, choices=Change.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DUE)
    created = models.DateTimeField(auto_now_add=True)
    due = models.DateTimeField(default=now, help_text="Not before, by our clock.")
    attempts = models.PositiveSmallIntegerField(default=0)
    last_error = models.CharField(max_length=500, blank=True)
    message_id = models.UUIDField(null=True, help_text="Of the message that told it, with others perhaps.")
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
    """Keeps alerts that match quiet until it expires. They are shown, but nobody is told."""

    matchers = models.CharField(
        max_length=1000,
        help_text='rule="Worker lost", cluster=~"dev-.*"; also severity, project, target.',
    )
    projects = models.ManyToManyField(Project, blank=True, help_text="None: all.")
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
    """Keeps all alerts of projects or targets quiet, once or again and again."""

    class Repeat(models.TextChoices):
        NEVER = "never", "once"
        DAILY = "daily", "every day"
        WEEKLY = "weekly", "every week"

    name = models.CharField(max_length=100)
    projects = models.ManyToManyField(Project, blank=True, help_text="None: all.")
    targets = models.ManyToManyField(Target, blank=True, help_text="None: all.")
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
