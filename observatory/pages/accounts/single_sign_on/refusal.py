"""The page of a sign-in that failed."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from observatory.clusters.audit.sign_ins import note_failure

LOOK_IN_THE_LOG = "Try again. If it persists, an administrator finds the reason in the log."


def failed(request: HttpRequest, text: str, status: int = 403) -> HttpResponse:
    note_failure(request)
    context = {"title": "Signing in failed", "text": text}
    return render(request, "pages/site/error.html", context, status=status)
