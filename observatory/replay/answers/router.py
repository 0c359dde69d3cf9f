"""A router of the API whose operations answer about a scope."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from observatory.base.api_response import ApiResponse
from observatory.replay.answers.shared_fields import shown
from observatory.replay.scope import Scope

REMEMBERED = "_scope_of_answer"


class AnswerRouter(Router):
    """Encodes the documents that its operations return, without validation, as the scope shows them.

    Of a public scope that are the fields that the operation's schema lists, so that a new field is hidden
    until it is listed there.
    """

    def __init__(self, scope_of: Callable[[HttpRequest], Scope], **options: Any) -> None:
        super().__init__(**options)
        self._scope_of = scope_of

    def scope_of(self, request: HttpRequest) -> Scope:
        """Return the scope of the URL, which is found once a request."""
        scope: Scope | None = getattr(request, REMEMBERED, None)
        if scope is None:
            scope = self._scope_of(request)
            setattr(request, REMEMBERED, scope)
        return scope

    def add_api_operation(
        self, path: str, methods: list[str], view_func: Callable[..., Any], **options: Any
    ) -> None:
        super().add_api_operation(path, methods, view_func, **options)
        schema = options.get("response")

        @wraps(view_func)
        def answer(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponse:
            found = view_func(request, *arguments, **named)
            if isinstance(found, HttpResponse):
                return found
            return ApiResponse(shown(self.scope_of(request), schema, found))

        self.path_operations[path].operations[-1].view_func = answer
