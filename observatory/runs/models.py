"""Runs, the links that share them, notes on a cluster's timeline, and saved filters of the list of runs."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F
from django.utils.timezone import now

from observatory.clusters.models import Cluster
from observatory.wire.runs import LONGEST_NAME, LONGEST_TAG, LONGEST_USER, MOST_TAGS

__all__ = ["LONGEST_NAME", "LONGEST_TAG", "MOST_TAGS"]


class Run(models.Model):
    """A named window of a cluster. While it goes on it has no `stop`."""

    class Origin(models.TextChoices):
        FOUND = "found", "found in what the cluster did"
        CODE = "code", "opened from code"
        CUT = "cut", "cut by hand"
        IMPORTED = "imported", "imported"

    class Outcome(models.TextChoices):
        RUNNING = "running", "running"
        FINISHED = "finished", "finished"
        ERRED = "erred", "with errors"
        LOST = "lost", "the cluster was lost"

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="runs")
    name = models.CharField(max_length=LONGEST_NAME)
    origin = models.CharField(max_length=10, choices=Origin.choices)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.RUNNING)
    start = models.DateTimeField(help_text="On the scheduler's clock.")
    stop = models.DateTimeField(null=True, blank=True)
    code_id = models.UUIDField(
        null=True, blank=True, editable=False, help_text="What the client that opened it from code calls it."
    )
    user = models.CharField(
        max_length=LONGEST_USER, blank=True, help_text="Who ran it, as far as it is known."
    )
    tags = models.JSONField(default=dict, blank=True, help_text="Texts by name: {“git”: “3f2a1c”}.")
    code = models.TextField(blank=True, editable=False, help_text="The source that opened it.")
    pinned = models.BooleanField(default=False, help_text="Its records are kept when others of its age go.")
    found_name = models.CharField(
        max_length=LONGEST_NAME,
        default="",
        db_default="",
        blank=True,
        editable=False,
        help_text="What finding.py called it: another name is somebody's.",
    )
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )

    # figures of the window, as store/queries/window_totals.py counts them; runs/refresh.py writes them
    tasks = models.PositiveIntegerField(default=0, editable=False)
    errors = models.PositiveIntegerField(default=0, editable=False)
    figures = models.JSONField(default=dict, editable=False)
    counted = models.DateTimeField(null=True, editable=False, help_text="When, by our clock.")

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


class Search(models.Model):
    """How far finding.py has looked for runs in a cluster's timeline."""

    cluster = models.OneToOneField(Cluster, models.CASCADE, primary_key=True, related_name="search")
    spans = models.BigIntegerField(default=0, help_text="How many the store had of it.")
    looked = models.DateTimeField(null=True, help_text="The end of the last span that was looked at.")
    busy = models.DateTimeField(null=True, help_text="The end of the last run that was found.")

    def __str__(self) -> str:
        return f"search in {self.cluster}"


class Permalink(models.Model):
    """Opens a run with what is on screen, for those who have the link. links.py makes them."""

    class Audience(models.TextChoices):
        MEMBERS = "members", "members of the project"
        ANYONE = "anyone", "anyone with the link"

    run = models.ForeignKey(Run, models.CASCADE, related_name="permalinks")
    token = models.CharField(max_length=64, unique=True, editable=False)
    audience = models.CharField(max_length=10, choices=Audience.choices, default=Audience.MEMBERS)
    place = models.CharField(max_length=4000, blank=True, help_text="The query string of what is on screen.")
    shows_logs = models.BooleanField("log lines", default=False)
    shows_code = models.BooleanField("code and profiles", default=False)
    shows_tracebacks = models.BooleanField("errors' messages and tracebacks", default=False)
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
    def is_valid(self) -> bool:
        return self.revoked is None and (self.expires is None or self.expires > now())


class Note(models.Model):
    """What somebody wrote at an instant, or a stretch, of a cluster's timeline."""

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
    """A query of the list of runs that somebody gave a name; nobody else sees it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_filters")
    name = models.CharField(max_length=100)
    query = models.CharField(max_length=2000)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="one_saved_filter_a_name")]

    def __str__(self) -> str:
        return self.name
