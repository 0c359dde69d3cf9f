"""The request by which a person starts to sign in."""

from __future__ import annotations

from django.http import HttpRequest, QueryDict

from observatory.pages.site.query import query_text


def only_next(request: HttpRequest) -> None:
    """Leaves `next`, where the person wants to go, of the query: allauth would read other parameters, too."""
    wanted = QueryDict(mutable=True)
    if next_page := query_text(request, "next"):
        wanted["next"] = next_page
    request.GET = wanted  # type: ignore[assignment]
