from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from observatory.clusters import access
from observatory.clusters.models import Project
from observatory.runs.models import LONGEST_NAME

HELP = (
    "A bundle from Observatory, a cluster dump from Dask (.msgpack.gz or .yaml), "
    "a page of performance_report (.html), or the result of get_task_stream as JSON."
)


class ImportForm(forms.Form):
    file = forms.FileField(help_text=HELP)
    project: forms.ModelChoiceField[Project] = forms.ModelChoiceField(queryset=None, empty_label=None)
    name = forms.CharField(
        max_length=LONGEST_NAME, required=False, help_text="Name of the run. Default: the name in the file."
    )

    def __init__(self, user: access.Person, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files)
        self.fields["file"].widget.attrs["data-limit"] = settings.IMPORT_LIMIT
        projects = access.projects_to_set_targets_in(user)
        self.fields["project"].queryset = projects  # type: ignore[attr-defined]
        self.fields["project"].initial = projects.first()

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > settings.IMPORT_LIMIT:
            raise ValidationError(f"The file is larger than {settings.IMPORT_LIMIT >> 20:,} MiB.")
        return file
