"""Who may attach files, and the changes to those that are attached."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from observatory.exchange.attachments.reading import KNOWN
from observatory.runs.models import Attachment, Run
from observatory.store.times import from_seconds
from observatory.wire.records import is_time

ONLY_EDITORS = "Only editors and owners of the project can attach files to its runs, or change them."
AFTER = "Seconds after the run's start."


class StartField(forms.FloatField):
    """Seconds after the start of a run, as a time on the scheduler's clock."""

    def __init__(self, run: Run, **options: Any) -> None:
        self.run = run
        widget = forms.NumberInput(attrs={"step": "any"})
        super().__init__(label="Begins at", widget=widget, **options)

    def clean(self, value: Any) -> datetime | None:
        seconds = super().clean(value)
        if seconds is None:
            return None
        start = self.run.start.timestamp() + seconds
        if not is_time(start):
            raise ValidationError("That is no time of this century.")
        return from_seconds(start)


class AttachForm(forms.Form):
    file = forms.FileField(help_text=f"{KNOWN[0].upper()}{KNOWN[1:]}.")
    worker = forms.CharField(
        max_length=500,
        required=False,
        help_text="Name or address of the worker that was recorded. Default: by the process ids in the file.",
    )

    def __init__(self, run: Run, *arguments: Any) -> None:
        super().__init__(*arguments)
        help = f"{AFTER} Default: as the file tells, else with the run."
        self.fields["start"] = StartField(run, required=False, help_text=help)
        self.fields["file"].widget.attrs["data-limit"] = settings.IMPORT_LIMIT

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > settings.IMPORT_LIMIT:
            raise ValidationError(f"The file is larger than {settings.IMPORT_LIMIT >> 20:,} MiB.")
        return file


class ShiftForm(forms.Form):
    """Moves a file on the timeline."""

    def __init__(self, attachment: Attachment, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.attachment = attachment
        self.fields["start"] = StartField(attachment.run)

    def save(self) -> None:
        self.attachment.start = self.cleaned_data["start"]
        self.attachment.save(update_fields=["start"])
