"""Forms of runs and notes, for pages and (with JSON as data) for the API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.timezone import now

from observatory.clusters.limits.room import require_room
from observatory.clusters.models import Cluster
from observatory.runs.finding_marks import keep_main_finding
from observatory.runs.models import MOST_TAGS, Note, Run
from observatory.runs.refresh import refresh_figures
from observatory.runs.tags import clean_tags, format_tags, parse_tags
from observatory.runs.window import clip_to_recorded, time_from_epoch

if TYPE_CHECKING:
    RunFormBase = forms.ModelForm[Run]
    NoteFormBase = forms.ModelForm[Note]
else:
    RunFormBase = NoteFormBase = forms.ModelForm

MOST_NOTES, MOST_CUT = 2000, 5000
"""of a cluster: notes, and runs that were cut by hand"""
"""for each cluster"""


class TagsField(forms.CharField):
    """Tags as lines of text, or as a mapping, cleaned to a mapping."""

    widget = forms.Textarea(attrs={"rows": 5, "spellcheck": "false"})

    def to_python(self, value: Any) -> Any:
        return clean_tags(value) if isinstance(value, Mapping) else parse_tags(super().to_python(value) or "")

    def prepare_value(self, value: Any) -> Any:
        return format_tags(value) if isinstance(value, Mapping) else value


class SecondsField(forms.FloatField):
    """Seconds since the epoch, cleaned to a datetime."""

    def clean(self, value: Any) -> Any:
        seconds = super().clean(value)
        return None if seconds is None else time_from_epoch(seconds)


class RunForm(RunFormBase):
    """Changes a run's name, tags and pin."""

    tags = TagsField(
        required=False, help_text=f"One on each line, at most {MOST_TAGS}: <code>git = 3f2a1c</code>"
    )

    class Meta:
        model = Run
        fields = ("name", "tags", "pinned")

    def save(self, commit: bool = True) -> Run:
        """Marks of findings are those of the name."""
        run = super().save(commit)
        if "name" in self.changed_data:
            keep_main_finding(run)
        return run


class CutForm(RunForm):
    """Saves a window of a cluster as a run."""

    start = SecondsField()
    stop = SecondsField()

    class Meta:
        model = Run
        fields = ("name", "tags")

    def __init__(self, cluster: Cluster, user: User, data: Any) -> None:
        run = Run(cluster=cluster, created_by=user, origin=Run.Origin.CUT, outcome=Run.Outcome.FINISHED)
        super().__init__(data, instance=run)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        start, stop = cleaned.get("start"), cleaned.get("stop")
        if start is None or stop is None:
            return cleaned
        if start >= stop:
            raise ValidationError({"stop": "The stop must be after the start."})
        self.instance.start, self.instance.stop = clip_to_recorded(self.instance.cluster, start, stop)
        if self.instance.start >= self.instance.stop:
            raise ValidationError({"stop": "Nothing was recorded between the start and the stop."})
        cut = Run.objects.filter(cluster=self.instance.cluster, origin=Run.Origin.CUT)
        require_room(cut, MOST_CUT, "This cluster", "runs that were cut by hand")
        return cleaned

    def save(self, commit: bool = True) -> Run:
        """Saves the run with its figures; its outcome depends on them."""
        with transaction.atomic():
            run = super().save(commit)
            refresh_figures(run)
        return run


class NoteForm(NoteFormBase):
    """A note at an instant of what was recorded, or at a stretch of it."""

    time = SecondsField()
    stop = SecondsField(required=False)

    class Meta:
        model = Note
        fields = ("text",)

    def __init__(self, cluster: Cluster, user: User, data: Any) -> None:
        super().__init__(data, instance=Note(cluster=cluster, author=user))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        time: datetime | None = cleaned.get("time")
        stop: datetime | None = cleaned.get("stop")
        if time is None:
            return cleaned
        if stop is not None and stop <= time:
            raise ValidationError({"stop": "The stop must be after the start."})
        begin, end = clip_to_recorded(self.instance.cluster, time, stop or time)
        self.instance.time, self.instance.stop = begin, end if stop and end > begin else None
        require_room(self.instance.cluster.notes.all(), MOST_NOTES, "This cluster", "notes")
        return cleaned


class NoteTextForm(NoteFormBase):
    """Changes the text of a note."""

    class Meta:
        model = Note
        fields = ("text",)

    def save(self, commit: bool = True) -> Note:
        self.instance.edited = now()
        return super().save(commit)
