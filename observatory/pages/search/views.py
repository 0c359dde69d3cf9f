"""The search in everything that a person may see."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from observatory.runs import search
from observatory.wire.records import clean_key

MOST_DIGITS = 9


@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """`skip` clusters have been searched for tasks on the pages before.

    The first page comes with the names at once; search.js appends the tasks of the following ones.
    """
    user = cast(User, request.user)
    text = clean_key(request.GET.get("q", "").strip())
    number = request.GET.get("skip", "")
    skip = int(number) if number.isascii() and number.isdecimal() and len(number) <= MOST_DIGITS else 0
    context: dict[str, Any] = {"text": text, "skip": skip}
    if text:
        budget = search.BUDGET if skip else search.FIRST_BUDGET
        context["found"] = search.search_tasks_everywhere(user, text, skip, budget)
        if not skip:
            context["names"] = search.search_names(user, text)
    return render(request, "pages/search/search.html", context)
