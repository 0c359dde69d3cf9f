"""Projects, targets and discoveries; clusters; help texts of metrics."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.timezone import now

from observatory.clusters import retention
from observatory.clusters.accounts.models import GroupRole as GroupRole
from observatory.clusters.accounts.models import Invitation as Invitation
from observatory.clusters.accounts.models import Membership as Membership
from observatory.clusters.addresses.http_addresses import validate_target_url
from observatory.clusters.audit.models import AuditEntry as AuditEntry
from observatory.clusters.deletion.models import Deletion as Deletion
from observatory.clusters.end_reasons import UNOBSERVED
from observatory.clusters.provisioning.models import Provisioned as Provisioned
from observatory.clusters.scim.models import ScimPerson as ScimPerson
from observatory.clusters.tokens.models import AccessToken as AccessToken

CURRENCY = r"\A([^\W\d_]{1,8}|[€$£¥₹₽₩₺₿¤])\Z"
PRICE: dict[str, Any] = {
    "max_digits": 13,
    "decimal_places": 6,
    "default": 0,
    "blank": True,
    "validators": [MinValueValidator(0), MaxValueValidator(1_000_000)],
}


class Project(models.Model):
    """A workspace with members; owns targets and clusters."""

    name = models.CharField(max_length=100, unique=True)
    slug = models.SlugField(max_length=100, unique=True)
    retention_days = models.PositiveIntegerField(
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(3650)],
        help_text="Days that records are kept. A shorter time takes effect a day after it is set.",
    )
    longer_retention_days = models.PositiveIntegerField(
        null=True, editable=False, help_text="The retention that applies until `longer_until`."
    )
    longer_until = models.DateTimeField(null=True, editable=False)
    quota_gib = models.FloatField(
        "Quota (GiB)",
        null=True,
        blank=True,
        validators=[MinValueValidator(0.001), MaxValueValidator(1_000_000)],
        help_text="Most that is stored of the project: beyond it the oldest records go first. Empty: the "
        "setting OBSERVATORY_PROJECT_QUOTA_GIB, or none.",
    )
    stored_bytes = models.BigIntegerField(
        null=True, editable=False, help_text="Stored of a project with a quota, counted each hour."
    )
    ingest_rate = models.FloatField(
        "Ingest (MiB a minute)",
        null=True,
        blank=True,
        validators=[MinValueValidator(0.001), MaxValueValidator(1_000_000)],
        help_text="Most that agents and Prometheus send, compressed; they send the rest later. Empty: the "
        "setting OBSERVATORY_PROJECT_INGEST_MIB_PER_MINUTE, or no limit.",
    )
    link_rate = models.PositiveIntegerField(
        "Requests of links a minute",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(1_000_000)],
        help_text="Of all links to runs of the project together. Empty: the setting "
        "OBSERVATORY_PROJECT_LINK_REQUESTS_PER_MINUTE, or no limit.",
    )
    export_rate = models.PositiveIntegerField(
        "Exports an hour",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(1_000_000)],
        help_text="Of all people together. Empty: the setting OBSERVATORY_PROJECT_EXPORTS_PER_HOUR, or no "
        "limit.",
    )
    run_idle_seconds = models.PositiveIntegerField(
        "Idle time between runs (seconds)",
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(86_400)],
        help_text="A pause of this length in a cluster's activity ends a run.",
    )
    thread_hour_price = models.DecimalField(
        "Price of a thread-hour",
        help_text="For each hour that a worker's thread exists, busy or not.",
        **PRICE,
    )
    gib_hour_price = models.DecimalField(
        "Price of a GiB-hour",
        help_text="For each GiB of a worker's memory limit and hour that it exists.",
        **PRICE,
    )
    worker_hour_price = models.DecimalField(
        "Price of a worker-hour", help_text="For each hour that a worker exists.", **PRICE
    )
    currency = models.CharField(
        max_length=8,
        blank=True,
        validators=[RegexValidator(CURRENCY, "Enter letters, such as EUR, or a sign: €, $, £, ¥.")],
        help_text="Currency of the prices: EUR, $, credits.",
    )
    is_own = models.BooleanField(
        default=False,
        editable=False,
        help_text="Observatory's own project: only superusers see its alerts.",
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["is_own"], condition=Q(is_own=True), name="one_own_project")
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **options: Any) -> None:
        retention.delay_shorter(self)
        if options.get("update_fields"):
            options["update_fields"] = {*options["update_fields"], *retention.FIELDS}
        super().save(*args, **options)

    @property
    def is_shortened(self) -> bool:
        """Whether a shorter retention is set that doesn't hold yet."""
        return self.longer_until is not None and self.longer_until > now()

    @property
    def effective_retention_days(self) -> int:
        """The days that hold now."""
        return (self.longer_retention_days if self.is_shortened else None) or self.retention_days

    @property
    def quota_bytes(self) -> int | None:
        """None: it may store as much as it does. Observatory's own project has no quota."""
        gib = settings.PROJECT_QUOTA_GIB if self.quota_gib is None else self.quota_gib
        return None if gib is None or self.is_own else round(gib * 2**30)

    @property
    def quota_used(self) -> float | None:
        """The share of the quota that was used when it was counted last."""
        if self.quota_bytes is None or self.stored_bytes is None:
            return None
        return self.stored_bytes / self.quota_bytes

    @property
    def has_price(self) -> bool:
        return any((self.thread_hour_price, self.gib_hour_price, self.worker_hour_price))


class Target(models.Model):
    """An address to observe: a scheduler's HTTP address. It outlives schedulers."""

    class Stream(models.TextChoices):
        UNKNOWN = "unknown", "not subscribed yet"
        RECEIVING = "receiving", "receiving"
        CONTESTED = "contested", "receiving, taken by another subscriber within the last hour"
        STOLEN = "stolen", "taken by another subscriber"
        YIELDED = "yielded", "left to another subscriber for an hour"
        CLOSED = "closed", "closed"

    class Workers(models.TextChoices):
        DIRECT = "direct", "At their own addresses, without the credentials"
        HTTP = "http", "At their own addresses, by http:// and without the credentials"
        CREDENTIALS = "credentials", "At their own addresses, with the credentials"
        PROXY = "proxy", "Through the scheduler's proxy of workers"

    project = models.ForeignKey(Project, models.CASCADE, related_name="targets")
    discovery = models.ForeignKey(
        "Discovery",
        models.CASCADE,
        null=True,
        editable=False,
        related_name="targets",
        help_text="What found it. Null: a person added it.",
    )
    missed = models.PositiveSmallIntegerField(
        default=0, editable=False, help_text="How many times in a row its discovery did not list it."
    )
    name = models.CharField(max_length=100)
    url = models.CharField(
        "address",
        max_length=500,
        validators=[validate_target_url],
        help_text="The scheduler's HTTP address: http://host:8787",
    )
    workers = models.CharField(
        "workers' metrics",
        max_length=12,
        choices=Workers.choices,
        default=Workers.DIRECT,
        help_text="How /metrics of workers are requested. The scheduler names their addresses.",
    )
    secret = models.TextField(default="", editable=False, help_text="Credentials, encrypted.")
    enabled = models.BooleanField(default=True)
    identity_interval = models.FloatField(
        default=1.0,
        validators=[MinValueValidator(0.2), MaxValueValidator(3600)],
        help_text="Seconds between requests of the scheduler's identity and counts.",
    )
    metrics_interval = models.FloatField(
        default=5.0,
        validators=[MinValueValidator(0.5), MaxValueValidator(3600)],
        help_text="Seconds between scrapes of /metrics of the scheduler and each worker.",
    )
    series_limit = models.PositiveIntegerField(
        default=100_000, help_text="Maximum number of series; more are refused."
    )
    created = models.DateTimeField(auto_now_add=True)

    # reported by the collector that has the lease
    lease_holder = models.CharField(max_length=100, default="", editable=False)
    lease_expires = models.DateTimeField(null=True, editable=False)
    last_seen = models.DateTimeField(null=True, editable=False)
    last_error = models.CharField(max_length=500, default="", editable=False)
    stream = models.CharField(max_length=10, choices=Stream.choices, default=Stream.UNKNOWN, editable=False)
    series_count = models.PositiveIntegerField(default=0, editable=False)
    series_refused = models.PositiveIntegerField(default=0, editable=False)
    cost = models.FloatField(
        default=1.0,
        db_default=1.0,
        editable=False,
        help_text="What observing it costs a collector: 1 for a cluster without workers.",
    )
    clock_offset = models.FloatField(
        default=0.0, editable=False, help_text="Seconds that the scheduler's clock is ahead of the server's."
    )

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "url"], name="one_target_an_address"),
            models.UniqueConstraint(fields=["project", "name"], name="one_target_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class Discovery(models.Model):
    """A list of clusters, each of which is a target while it is listed. collect/discovery/ has the kinds."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="discoveries")
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=20)
    address = models.CharField(max_length=500, blank=True)
    namespace = models.CharField(
        max_length=63,
        blank=True,
        help_text="Kubernetes namespace. Empty: all that the credentials permit.",
    )
    secret = models.TextField(default="", editable=False, help_text="Credentials, encrypted.")
    shares_credentials = models.BooleanField(
        "Send these credentials to found targets, too",
        default=False,
        help_text="They are sent to every address in the list. Only for lists that you trust.",
    )
    enabled = models.BooleanField(default=True)
    interval = models.FloatField(
        default=30.0,
        validators=[MinValueValidator(5), MaxValueValidator(86_400)],
        help_text="Seconds between two requests of the list.",
    )
    workers = models.CharField(
        "workers' metrics",
        max_length=12,
        choices=Target.Workers.choices,
        default=Target.Workers.DIRECT,
        help_text="How /metrics of workers are requested, for found targets.",
    )
    identity_interval = models.FloatField(
        default=1.0,
        validators=[MinValueValidator(0.2), MaxValueValidator(3600)],
        help_text="Seconds between requests of identity and counts, for found targets.",
    )
    metrics_interval = models.FloatField(
        default=5.0,
        validators=[MinValueValidator(0.5), MaxValueValidator(3600)],
        help_text="Seconds between scrapes of /metrics, for found targets.",
    )
    created = models.DateTimeField(auto_now_add=True)

    # what the last request brought
    looked = models.DateTimeField(null=True, editable=False, help_text="When the list was requested last.")
    answered = models.DateTimeField(null=True, editable=False, help_text="When the list arrived last.")
    found = models.PositiveIntegerField(default=0, editable=False, help_text="Clusters in the last list.")
    error = models.CharField(max_length=500, default="", editable=False)
    warning = models.CharField(
        max_length=500,
        default="",
        editable=False,
        help_text="Entries of the last list that are not observed, with reasons.",
    )

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "discoveries"
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="one_discovery_a_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def shared_secret(self) -> str:
        """The credentials of found targets, encrypted; "" for none."""
        return self.secret if self.shares_credentials else ""


class Cluster(models.Model):
    """One scheduler process's lifetime, keyed by the scheduler's own id; live or ended."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="clusters")
    target = models.ForeignKey(Target, models.SET_NULL, null=True, blank=True, related_name="clusters")
    scheduler_id = models.CharField(max_length=200, help_text="The scheduler's own id: Scheduler-…")
    name = models.CharField(max_length=100)
    address = models.CharField(max_length=500, blank=True, help_text="tcp://host:8786")
    started = models.DateTimeField(help_text="When the scheduler started, by its own clock.")
    first_seen = models.DateTimeField(db_default=Now())
    last_seen = models.DateTimeField(help_text="When the scheduler last answered, by its own clock.")
    agent_heard = models.DateTimeField(
        null=True, blank=True, help_text="When its agent last reported, by our clock."
    )
    agent_silent = models.DateTimeField(
        null=True, editable=False, help_text="When its agent was noticed to be silent, by our clock."
    )
    collector_behind = models.DateTimeField(
        null=True, editable=False, help_text="When its collector was noticed to be behind, by our clock."
    )
    ended = models.DateTimeField(null=True, blank=True)
    end_reason = models.CharField(max_length=200, blank=True)
    identity_interval = models.FloatField(default=1.0)
    metrics_interval = models.FloatField(default=5.0)

    class Meta:
        ordering = ["-started"]
        constraints = [
            models.UniqueConstraint(fields=["project", "scheduler_id"], name="one_cluster_a_scheduler")
        ]
        indexes = [models.Index(fields=["project", "-started"])]

    def __str__(self) -> str:
        return self.name

    @property
    def is_live(self) -> bool:
        return self.ended is None

    @property
    def is_unobserved(self) -> bool:
        """Whether only its recording is known to have ended."""
        return self.end_reason.startswith(UNOBSERVED)

    @property
    def end(self) -> dict[str, Any]:
        """As pages get it: `ended`, seconds or None while the cluster is live, and `end_reason`."""
        return {"ended": self.ended.timestamp() if self.ended else None, "end_reason": self.end_reason}


class MetricHelp(models.Model):
    """Help text of a metric, from the first scrape with one (`# HELP`)."""

    name = models.CharField(max_length=500, unique=True)
    help = models.CharField(max_length=500)

    def __str__(self) -> str:
        return self.name
