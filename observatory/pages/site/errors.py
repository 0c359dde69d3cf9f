"""Error responses: a page for browsers, JSON for the API."""

from __future__ import annotations

import sys

import psycopg
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.log import log_response

from observatory.clusters.formatting import format_count
from observatory.store.archive.errors import ArchiveError, BeingFetched, DamagedFile
from observatory.store.connection import database_error, is_unavailable
from observatory.store.places.askers import AskerGone
from observatory.store.places.scan_places import NoPlace, waiting_requests

CLIENT_CLOSED_REQUEST = 499
RETRY_AFTER, FETCHING_RETRY_AFTER = 5, 1
"""seconds"""


def is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 400, "Bad request", "The address or form is invalid. Go back and try again.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 403, "Permission denied", str(exception) or "Ask an owner of the project.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    # the URL resolver's exception lists all URLs
    text = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    return _answer(request, 404, "Not found", text or "No page has this address.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _answer(
        request,
        403,
        "This form has expired",
        "The page was open for too long, or cookies are blocked. Reload the page and try again.",
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """The answer to an uncaught exception, which is the one that is being handled."""
    error = sys.exc_info()[1]
    if isinstance(error, BeingFetched):
        return _being_fetched(request, error)
    if isinstance(error, AskerGone):
        return _nobody_waits()
    if isinstance(error, NoPlace):
        return _searches_are_waiting(request)
    if isinstance(error, ArchiveError):
        return _archive_is_away(request, error)
    if is_unavailable(error):
        return _unavailable(request, str(error))
    if isinstance(database_error(error), psycopg.errors.QueryCanceled):
        return _too_slow(request)
    if is_api(request):
        return JsonResponse({"detail": "Server error. The server's log has the details."}, status=500)
    # no context processors, since they query the database, which may be down
    return HttpResponse(render_to_string("pages/site/server_error.html"), status=500)


def _unavailable(request: HttpRequest, reason: str) -> HttpResponse:
    """The answer while no connection to the database can be had, logged in one line."""
    if is_api(request):
        detail = "The database is unavailable or overloaded. Try again in some seconds."
        response: HttpResponse = JsonResponse({"detail": detail}, status=503)
    else:
        response = HttpResponse(render_to_string("pages/site/unavailable.html"), status=503)
    response.headers["Retry-After"] = str(RETRY_AFTER)
    log_response(
        "the database is unavailable: %s: %s",
        request.path,
        " ".join(reason.split()),
        response=response,
        request=request,
        level="warning",
    )
    return response


def _being_fetched(request: HttpRequest, progress: BeingFetched) -> HttpResponse:
    """The answer while archived records are on their way into the database: how far it is."""
    text = "These records are archived, and are being fetched from the archive"
    if progress.rows:
        share = progress.done * 100 // progress.rows
        counts = f"{format_count(progress.done)} of {format_count(progress.rows)} records"
        text = f"{text}: {counts} ({share} %)"
    if is_api(request):
        fetching = {"done": progress.done, "rows": progress.rows}
        response: HttpResponse = JsonResponse({"detail": f"{text}.", "fetching": fetching}, status=503)
    else:
        context = {"text": f"{text}. They are shown once they are here.", "progress": progress}
        response = render(request, "pages/site/being_fetched.html", context, status=503)
        if request.method == "GET":
            response.headers["Refresh"] = str(FETCHING_RETRY_AFTER)
    response.headers["Retry-After"] = str(FETCHING_RETRY_AFTER)
    do_not_log(response)
    return response


def _nobody_waits() -> HttpResponse:
    """The answer to a search that stopped since its client has gone: for traces and metrics alone."""
    response = HttpResponse(status=CLIENT_CLOSED_REQUEST)
    do_not_log(response)
    return response


def _searches_are_waiting(request: HttpRequest) -> HttpResponse:
    """The answer to a search that got no place for its scans: it waits for one, and then says so.

    Pages and charts look again by themselves.
    """
    waiting = waiting_requests()
    others = f" Others that wait: {format_count(waiting)}." if waiting else ""
    text = (
        "Many searches of archived records are going on: yours comes after them. Look again in some "
        f"seconds.{others}"
    )
    response = _answer(request, 503, "Your search is waiting", text)
    response.waits_for_scan = True  # type: ignore[attr-defined]
    response.headers["Retry-After"] = str(RETRY_AFTER)
    if request.method == "GET" and not is_api(request):
        response.headers["Refresh"] = str(RETRY_AFTER)
    do_not_log(response)
    return response


def _archive_is_away(request: HttpRequest, error: ArchiveError) -> HttpResponse:
    """The answer while archived records are needed and can't be read, logged in one line."""
    title, text = (
        "The archive is away",
        "Records of this cluster are archived, and the archive can't be reached now. They are not lost: try "
        "again later, or ask an administrator.",
    )
    if isinstance(error, DamagedFile):
        title, text = (
            "A file of the archive is damaged",
            "Records of this cluster are archived, and a file with some of them is missing or damaged: what "
            "could be shown would be incomplete. Ask an administrator to run `dask-observatory archive "
            "verify`, which names it.",
        )
    response = _answer(request, 503, title, text)
    response.headers["Retry-After"] = str(RETRY_AFTER)
    log_response(
        "archived records can't be read: %s: %s",
        request.path,
        " ".join(str(error).split()),
        response=response,
        request=request,
        level="warning",
    )
    return response


def _too_slow(request: HttpRequest) -> HttpResponse:
    """The answer to what takes the database longer than a statement may (store/connection.py)."""
    text = "This takes the database too long. Narrow the window, or search for less."
    response = _answer(request, 503, "Too slow", text)
    response.headers["Retry-After"] = str(RETRY_AFTER)
    do_not_log(response)
    return response


def do_not_log(response: HttpResponse) -> None:
    """Keeps Django from logging a response with status 5xx as an error."""
    response._has_been_logged = True  # type: ignore[attr-defined]  # django.utils.log reads it


def _answer(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    if is_api(request):
        return JsonResponse({"detail": f"{title}. {text}"}, status=status)
    return render(request, "pages/site/error.html", {"title": title, "text": text}, status=status)
