from __future__ import annotations

from django.urls import path

from observatory.pages.exchange import attachment_views, export_views, import_views, job_views

urlpatterns = [
    path("runs/<int:run_id>/export/", export_views.run_export, name="run-export"),
    path("runs/<int:run_id>/attachments/", attachment_views.run_attachments, name="run-attachments"),
    path(
        "runs/<int:run_id>/attachments/<int:attachment_id>/shift/",
        attachment_views.shift_attachment,
        name="attachment-shift",
    ),
    path(
        "runs/<int:run_id>/attachments/<int:attachment_id>/remove/",
        attachment_views.remove_attachment,
        name="attachment-remove",
    ),
    path("import/", import_views.import_page, name="import"),
    path("jobs/<int:job_id>/", job_views.job_page, name="job"),
    path("jobs/<int:job_id>/cancel/", job_views.cancel, name="job-cancel"),
    path("jobs/<int:job_id>/download/", job_views.download, name="job-download"),
]
