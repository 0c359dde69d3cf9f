"""Jobs that export, import and attach files, which Celery runs."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from observatory.clusters.background_work import BackgroundWork
from observatory.clusters.models import Project
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
