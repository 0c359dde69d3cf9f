"""What is answered when something is wrong: a page to people, JSON to programs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string


def is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 400, "That request makes no sense", "What was sent could not be understood.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 403, "You may not do that", str(exception) or "Ask an owner of the project.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    # an exception of the URL resolver lists all URLs
    text = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    return _answer(request, 404, "There is nothing here", text or "No page has this address.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _answer(
        request,
        403,
        "This form is too old",
        "The page was open for too long, or cookies are blocked. Go back, reload the page and try again.",
    )


def server_error(request: HttpRequest) -> HttpResponse:
    if is_api(request):
        return JsonResponse({"detail": "The server failed. Its log says why."}, status=500)
    # no context processors: they ask the database, which may be what failed
    return HttpResponse(render_to_string("pages/site/server_error.html"), status=500)


def _answer(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    if is_api(request):
        return JsonResponse({"detail": f"{title}. {text}"}, status=status)
    return render(request, "pages/site/error.html", {"title": title, "text": text}, status=status)
