"""Runs, links to them, notes on timelines, and saved filters of the list of runs."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Value
from django.utils.timezone import now

from observatory.clusters.models import Cluster
from observatory.runs.sharing.link_tokens import shown
from observatory.wire.runs import LONGEST_NAME, LONGEST_TAG, LONGEST_USER, MOST_TAGS

__all__ = ["LONGEST_NAME", "LONGEST_TAG", "MOST_TAGS"]


class Run(models.Model):
    """A named window of a cluster. An open run has no `stop`."""

    class Origin(models.TextChoices):
        FOUND = "found", "found from activity"
        CODE = "code", "from code"
        CUT = "cut", "saved by hand"
        IMPORTED = "imported", "imported"

    class Outcome(models.TextChoices):
        RUNNING = "running", "running"
        FINISHED = "finished", "finished"
        ERRED = "erred", "with errors"
        LOST = "lost", "cluster lost"

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="runs")
    name = models.CharField(max_length=LONGEST_NAME)
    origin = models.CharField(max_length=10, choices=Origin.choices)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.RUNNING)
    start = models.DateTimeField(help_text="On the scheduler's clock.")
    stop = models.DateTimeField(null=True, blank=True)
    code_id = models.UUIDField(
        null=True, blank=True, editable=False, help_text="The client's id of a run from code."
    )
    user = models.CharField(max_length=LONGEST_USER, blank=True, help_text="User who ran it, if known.")
    tags = models.JSONField(default=dict, blank=True, help_text="Values by name: {“git”: “3f2a1c”}.")
    code = models.TextField(blank=True, editable=False, help_text="Source code that opened the run.")
    pinned = models.BooleanField(default=False, help_text="Retention keeps the records of a pinned run.")
    found_name = models.CharField(
        max_length=LONGEST_NAME,
        default="",
        db_default="",
        blank=True,
        editable=False,
        help_text="The name given by discovery; a different name was set by a user.",
    )
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )

    # figures of the window, as store/queries/windows/totals.py counts them; runs/refresh.py writes them
    tasks = models.PositiveIntegerField(default=0, editable=False)
    errors = models.PositiveIntegerField(default=0, editable=False)
    figures = models.JSONField(default=dict, editable=False)
    contents = models.JSONField(
        default=dict,
        db_default=Value({}, models.JSONField()),
        editable=False,
        help_text="Main prefixes and computations, for the run's card.",
    )
    counted = models.DateTimeField(
        null=True, editable=False, help_text="When the figures were counted, by the server's clock."
    )

    class Meta:
        ordering = ["-start", "-pk"]
        indexes = [
            models.Index(fields=["cluster", "start"]),
            models.Index(fields=["name", "start"]),
            models.Index(fields=["start", "id"]),
            models.Index(F("stop") - F("start"), "id", name="runs_run_duration"),
            GinIndex(fields=["tags"], name="runs_run_tags"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "code_id"], name="one_run_a_code_id"),
            models.CheckConstraint(
                condition=models.Q(stop=None) | models.Q(stop__gt=models.F("start")),
                name="a_run_stops_after_its_start",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_open(self) -> bool:
        return self.stop is None


class RunDiscovery(models.Model):
    """Progress of the search for runs in a cluster (discovery/discover.py)."""

    cluster = models.OneToOneField(Cluster, models.CASCADE, primary_key=True, related_name="run_discovery")
    records = models.BigIntegerField(default=0, help_text="Number of spans and errors at the last search.")
    looked = models.DateTimeField(null=True, help_text="End of the last activity searched.")
    busy = models.DateTimeField(
        null=True, help_text="End of the last activity found, or when tasks were last in processing."
    )

    class Meta:
        db_table = "runs_search"

    def __str__(self) -> str:
        return f"run discovery in {self.cluster}"


class Permalink(models.Model):
    """A link that opens a run in a certain view. sharing/links.py creates them."""

    class Audience(models.TextChoices):
        MEMBERS = "members", "members of the project"
        ANYONE = "anyone", "anyone with the link"

    run = models.ForeignKey(Run, models.CASCADE, related_name="permalinks")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    secret = models.CharField(max_length=200, editable=False)
    audience = models.CharField(max_length=10, choices=Audience.choices, default=Audience.MEMBERS)
    place = models.CharField(max_length=4000, blank=True, help_text="Query string of the view.")
    shows_logs = models.BooleanField("log lines", default=False)
    shows_code = models.BooleanField("code and profiles", default=False)
    shows_tracebacks = models.BooleanField("error messages and tracebacks", default=False)
    hides_addresses = models.BooleanField(
        "hide addresses",
        default=True,
        help_text="Replaces addresses, hosts and process ids by numbers of workers.",
    )
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )
    expires = models.DateTimeField(null=True, blank=True)
    revoked = models.DateTimeField(null=True, editable=False)
    opened = models.PositiveIntegerField(default=0, editable=False)
    last_opened = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return f"link to {self.run}"

    @property
    def token(self) -> str:
        """ "" if the server's secret key was changed since: the link works, but can't be shown again."""
        return shown(self.secret)

    @property
    def is_valid(self) -> bool:
        return self.revoked is None and (self.expires is None or self.expires > now())


class Note(models.Model):
    """A text at an instant or an interval of a cluster's timeline."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="notes")
    time = models.DateTimeField(help_text="On the scheduler's clock.")
    stop = models.DateTimeField(null=True, blank=True)
    text = models.CharField(max_length=2000)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    edited = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["time", "pk"]
        indexes = [models.Index(fields=["cluster", "time"])]

    def __str__(self) -> str:
        return self.text[:60]


class SavedFilter(models.Model):
    """A named query of the list of runs, private to its user."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_filters")
    name = models.CharField(max_length=100)
    query = models.CharField(max_length=2000)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="one_saved_filter_a_name")]

    def __str__(self) -> str:
        return self.name
