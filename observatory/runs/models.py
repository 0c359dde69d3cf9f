"""Runs, links to them, notes on timelines, and saved filters of the list of runs."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Value
from django.utils.timezone import now

from observatory.clusters.models import Cluster, Project
from observatory.runs.sharing.link_tokens import shown
from observatory.wire.client_code.runs import LONGEST_NAME, LONGEST_TAG, LONGEST_USER, MOST_TAGS

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
        UNSEEN = "unseen", "end not seen"

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
    attached_files = models.PositiveSmallIntegerField(
        default=0, db_default=0, editable=False, help_text="Number of its attachments."
    )
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
        null=True, editable=False, help_text="When the count of the figures began, by the server's clock."
    )
    records_came = models.DateTimeField(
        null=True,
        editable=False,
        help_text="When records of it last came after it was counted, by the server's clock.",
    )
    sums_counted = models.DateTimeField(
        null=True,
        editable=False,
        help_text="`counted` of the figures when its usage and errors were added up.",
    )

    class Meta:
        ordering = ["-start", "-pk"]
        indexes = [
            models.Index(fields=["cluster", "start"]),
            # with what lists and comparisons ask of very many runs: a run's own row has a kilobyte and more
            models.Index(
                fields=["name", "start", "id"],
                include=["cluster", "outcome", "stop"],
                name="runs_run_of_name",
            ),
            models.Index(fields=["start", "id"], include=["cluster"], name="runs_run_started"),
            models.Index(F("stop") - F("start"), "id", name="runs_run_duration"),
            models.Index(fields=["tasks", "id"], include=["cluster"], name="runs_run_by_tasks"),
            models.Index(fields=["errors", "id"], include=["cluster"], name="runs_run_by_errors"),
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

    @property
    def known_findings(self) -> RunFindings | None:
        """None: it wasn't looked at yet."""
        return getattr(self, "findings", None)


class Attachment(models.Model):
    """A profile or a trace that a tool of its own recorded. exchange/attachments/ reads it.

    It lies beside the records of the cluster, so that people can shift it on the timeline.
    """

    class Format(models.TextChoices):
        SPEEDSCOPE = "speedscope", "profile"
        TRACE = "trace", "trace"

    run = models.ForeignKey(Run, models.CASCADE, related_name="attachments")
    name = models.CharField(max_length=255, help_text="Name of the file.")
    format = models.CharField(max_length=10, choices=Format.choices)
    digest = models.CharField(max_length=64, editable=False, help_text="SHA-256 of the file.")
    start = models.DateTimeField(help_text="When the file begins, on the scheduler's clock.")
    seconds = models.FloatField(help_text="Length of the file.")
    is_dated = models.BooleanField(default=False, help_text="The file itself tells when it begins.")
    threads = models.JSONField(
        default=list, help_text="Of each thread of the file: process, name, and the worker's id or null."
    )
    stacks = models.BinaryField(help_text="Binned stacks, packed (exchange/attachments/binned_stacks.py).")
    remarks = models.TextField(blank=True, help_text="What the file doesn't tell.")
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )

    class Meta:
        ordering = ["start", "pk"]
        constraints = [models.UniqueConstraint(fields=["run", "digest"], name="one_attachment_of_a_file")]

    def __str__(self) -> str:
        return self.name


class Usage(models.Model):
    """What a cluster, or a run of it, used on one day (UTC). usage/counting.py keeps it."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="usage")
    run = models.ForeignKey(
        Run, models.CASCADE, null=True, related_name="usage", help_text="Null: all of it."
    )
    day = models.DateField()
    until = models.DateTimeField(help_text="The day is counted up to here, on the scheduler's clock.")
    cluster_seconds = models.FloatField(default=0)
    worker_seconds = models.FloatField(default=0)
    thread_seconds = models.FloatField(default=0)
    memory_seconds = models.FloatField(default=0, help_text="Bytes of the workers' limits times seconds.")
    busy_seconds = models.FloatField(default=0, help_text="In which threads computed tasks.")
    tasks = models.BigIntegerField(default=0)
    errors = models.BigIntegerField(default=0)

    # of jobs of batch systems, where agents tell of them (batch_jobs/kept.py)
    jobs = models.PositiveIntegerField(default=0, db_default=0, help_text="That began on this day.")
    wait_seconds = models.FloatField(
        default=0, db_default=0, help_text="That these waited in queues, as far as it is known."
    )
    asked_core_seconds = models.FloatField(default=0, db_default=0)
    used_core_seconds = models.FloatField(default=0, db_default=0, help_text="CPU seconds.")
    asked_memory_seconds = models.FloatField(default=0, db_default=0, help_text="Bytes times seconds.")
    used_memory_seconds = models.FloatField(default=0, db_default=0)

    class Meta:
        verbose_name_plural = "usage"
        indexes = [models.Index(fields=["day", "cluster"])]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "run", "day"], name="one_usage_a_day", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"{self.run or self.cluster} on {self.day}"


class RunError(models.Model):
    """The errors of one exception at one place in the code in a run. errors/counting.py keeps them."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="error_kinds")
    exception_type = models.CharField(max_length=200)
    place = models.CharField(max_length=420, help_text="What errors of the same place have in common.")
    function = models.CharField(max_length=200, blank=True)
    file = models.CharField(max_length=200, blank=True)
    line = models.PositiveIntegerField(default=0, help_text="Of the last error.")
    prefix = models.CharField(max_length=200, help_text="That most of them are of.")
    count = models.PositiveIntegerField(help_text="Failed attempts.")
    retried = models.PositiveIntegerField(default=0)
    killed = models.PositiveIntegerField(default=0)
    first = models.DateTimeField()
    last = models.DateTimeField()
    last_id = models.UUIDField()
    message = models.CharField(max_length=500, blank=True)
    deaths = models.JSONField(default=dict, help_text="Of the workers on which killed tasks ran.")

    class Meta:
        indexes = [models.Index(fields=["exception_type", "place", "last"]), models.Index(fields=["last"])]
        constraints = [
            models.UniqueConstraint(fields=["run", "exception_type", "place"], name="one_kind_of_error_a_run")
        ]

    def __str__(self) -> str:
        return f"{self.exception_type} in {self.place}"


class RunFindings(models.Model):
    """What the tab Why? finds in a run that has ended; a run without them wasn't looked at yet.

    why/findings/of_runs.py keeps it. The texts are as members of the project see them.
    """

    class State(models.TextChoices):
        FOUND = "found", "found"
        NONE = "none", "nothing stands out"
        TOO_LARGE = "too-large", "too large to look at"
        GONE = "gone", "its records are deleted"
        LOOKING = "looking", "being looked at"
        FAILED = "failed", "couldn't be looked at"
        MARKED = "marked", "all are marked as known or wrong"

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="findings")
    state = models.CharField(max_length=10, choices=State.choices)
    counted = models.DateTimeField(help_text="`counted` of the run's figures when it was looked at.")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="That ended without a result.")
    kind = models.CharField(
        max_length=50, blank=True, help_text="Of the main finding, the first without a mark."
    )
    sentence = models.TextField(blank=True)
    thread_seconds = models.FloatField(default=0)
    wall_seconds = models.FloatField(default=0)
    all = models.JSONField(default=list, help_text="All of them, each with the names of its prefixes.")

    class Meta:
        verbose_name_plural = "findings of runs"
        indexes = [models.Index(fields=["kind"]), models.Index(fields=["state"])]

    def __str__(self) -> str:
        return self.sentence or self.get_state_display()


class FindingMark(models.Model):
    """A finding that somebody marked, in all runs of a name. finding_marks.py says which finding it is."""

    class MarkedAs(models.TextChoices):
        KNOWN = "known", "known"
        WRONG = "wrong", "wrong"

    project = models.ForeignKey(Project, models.CASCADE, related_name="finding_marks")
    run_name = models.CharField(max_length=LONGEST_NAME)
    kind = models.CharField(max_length=50)
    prefixes = models.JSONField(default=list, help_text="Names of the prefixes that it is about.")
    marked_as = models.CharField(max_length=10, choices=MarkedAs.choices)
    sentence = models.TextField(blank=True, help_text="The finding in the run in which it was marked.")
    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, editable=False, related_name="+"
    )

    class Meta:
        ordering = ["-created", "-pk"]
        indexes = [models.Index(fields=["project", "run_name"])]

    def __str__(self) -> str:
        return f"{self.kind} in {self.run_name}: {self.marked_as}"


class RunExplanation(models.Model):
    """The answers of the tab Why? for all of a run that has too many tasks to be looked at meanwhile.

    why/kept.py keeps them. Their texts are as members of the project see them.
    """

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="explanation")
    counted = models.DateTimeField(help_text="`counted` of the run's figures when it was looked at.")
    answers = models.JSONField(default=dict, help_text="Those of the API, by the last part of its URL.")

    def __str__(self) -> str:
        return f"why {self.run} went as it did"


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
