"""Jobs that export, import and attach files, and receivers to which runs are sent. Celery does both."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from observatory.clusters.background_work import BackgroundWork
from observatory.clusters.models import Project
from observatory.exchange.receivers.kinds import DEFAULT, LABELS
from observatory.runs.models import LONGEST_NAME, Run


class Job(BackgroundWork):
    """An export, an import, or a file that is attached to a run.

    Removed a day after its end, with its file (jobs/folder.py).
    """

    class Kind(models.TextChoices):
        EXPORT = "export", "export"
        IMPORT = "import", "import"
        ATTACH = "attach", "attachment"

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="jobs")
    run = models.ForeignKey(
        Run,
        models.CASCADE,
        null=True,
        related_name="jobs",
        help_text="The exported or imported run, or the one that a file is attached to.",
    )
    project = models.ForeignKey(Project, models.CASCADE, related_name="jobs")
    format = models.CharField(max_length=50, blank=True, help_text="Name of an export's format in FORMATS.")
    name = models.CharField(max_length=LONGEST_NAME, blank=True, help_text="Name for an imported run.")
    start = models.DateTimeField(null=True, help_text="When an attached file begins; null: as it tells.")
    worker = models.CharField(
        max_length=500, blank=True, help_text="Name or address of an attached file's worker."
    )
    file_name = models.CharField(max_length=255, help_text="File name shown to users.")
    size = models.BigIntegerField(default=0, help_text="Size of the file in bytes.")
    message = models.CharField(
        max_length=1000, blank=True, help_text="Why it failed, or what a file doesn't tell."
    )
    created = models.DateTimeField(auto_now_add=True)
    finished = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created", "-pk"]
        indexes = [models.Index(fields=["user", "state"])]

    def __str__(self) -> str:
        return f"{self.kind} of {self.file_name}"


class Receiver(models.Model):
    """A system to which runs are sent when they have ended.

    The address has secrets: receivers/secrets.py encrypts it.
    """

    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=15, choices=list(LABELS.items()), default=DEFAULT)
    secret = models.TextField(editable=False, help_text="The address and headers, encrypted.")
    enabled = models.BooleanField(default=True)
    projects = models.ManyToManyField(Project, blank=True, related_name="receivers", help_text="Empty: all.")
    run_names = models.TextField(
        "names of runs",
        blank=True,
        max_length=2000,
        help_text="One pattern per line, such as etl-*. Empty: all.",
    )
    most_tasks = models.PositiveIntegerField(
        "tasks of a run",
        default=10_000,
        validators=[MinValueValidator(100), MaxValueValidator(100_000)],
        help_text="Larger runs are sampled. Failed tasks, stragglers and the critical path are kept.",
    )
    sends_logs = models.BooleanField("errors and log lines", default=True)
    sends_metrics = models.BooleanField("metrics", default=True)
    sends_arguments = models.BooleanField(
        "arguments of failed tasks", default=False, help_text="Where agents record them."
    )
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )

    class Meta:
        ordering = ["name"]
        verbose_name = "receiver of runs"
        verbose_name_plural = "receivers of runs"

    def __str__(self) -> str:
        return self.name


class RunDelivery(models.Model):
    """A run that is sent to a receiver, and its state."""

    class State(models.TextChoices):
        DUE = "due", "due"
        SENT = "sent", "sent"
        FAILED = "failed", "failed"
        UNNEEDED = "unneeded", "no longer needed"

    receiver = models.ForeignKey(Receiver, models.CASCADE, related_name="deliveries")
    run = models.ForeignKey(Run, models.CASCADE, related_name="deliveries")
    state = models.CharField(max_length=10, choices=State.choices, default=State.DUE)
    created = models.DateTimeField(auto_now_add=True)
    due = models.DateTimeField(default=now, help_text="Earliest time to send, on our clock.")
    attempts = models.PositiveSmallIntegerField(default=0)
    last_error = models.CharField(max_length=500, blank=True)
    sent = models.DateTimeField(null=True)
    report = models.CharField(max_length=500, blank=True, help_text="What was sent.")
    accepted = models.JSONField(
        default=dict, editable=False, help_text="What the receiver has of it, until all was sent."
    )

    class Meta:
        ordering = ["-created", "-pk"]
        verbose_name = "sent run"
        verbose_name_plural = "sent runs"
        constraints = [models.UniqueConstraint(fields=["receiver", "run"], name="one_delivery_a_run")]
        indexes = [models.Index(fields=["due"], condition=Q(state="due"), name="exchange_runs_due")]

    def __str__(self) -> str:
        return f"{self.run} to {self.receiver}"
