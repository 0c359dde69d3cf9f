"""The URLs of all pages: each subject's `urls.py`. A new subject is a folder and a line here."""

from __future__ import annotations

from django.urls import include, path

SUBJECTS = (
    "accounts",
    "alerts",
    "audit",
    "clusters",
    "comparison",
    "deletion",
    "errors",
    "exchange",
    "framed",
    "links",
    "logs",
    "projects",
    "runs",
    "search",
    "site",
    "targets",
    "tasks",
    "usage",
    "worker_pages",
)

urlpatterns = [path("", include(f"observatory.pages.{subject}.urls")) for subject in SUBJECTS]
