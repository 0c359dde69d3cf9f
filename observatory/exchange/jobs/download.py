"""The file of a finished export, as an answer."""

from __future__ import annotations

from django.http import FileResponse, Http404

from observatory.clusters.audit.noting import Action, note
from observatory.exchange.formats import FORMATS
from observatory.exchange.jobs import folder
from observatory.exchange.models import Job


def export_file(job: Job) -> FileResponse:
    """Raises Http404 for an import, an export that is not finished, and a file that was deleted."""
    format = FORMATS.get(job.format)
    if job.kind != Job.Kind.EXPORT or job.state != Job.State.DONE or format is None:
        raise Http404("This job has no file to download.")
    try:
        file = folder.path_of(job.pk).open("rb")
    except FileNotFoundError:
        raise Http404("The file was deleted after a day. Export the run again.") from None
    note(Action.DOWNLOAD, "export", job.file_name, job.pk, [job.project_id])
    return FileResponse(file, as_attachment=True, filename=job.file_name, content_type=format.content_type)
