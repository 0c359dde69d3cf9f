"""An answer about a window, declared once: its route, its type in the browser, its place in files of runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import psycopg
from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema

from observatory.replay.answers.router import AnswerRouter
from observatory.replay.scope import Scope
from observatory.store.times import MAXIMUM_TIME

LATEST = MAXIMUM_TIME / 1e6 - 1
Item = dict[str, Any]
Seconds = Annotated[float, Query(gt=0, lt=MAXIMUM_TIME / 1e6, description="on the scheduler's clock")]
After = Annotated[float, Query(ge=0, lt=MAXIMUM_TIME / 1e6)]


@dataclass(frozen=True, slots=True)
class WindowAnswer:
    name: str
    """in the path: "what-if" """
    meaning: str
    """for the API's documentation: what it says of after ≤ time < before"""
    schema: type[Schema]
    of: Callable[[psycopg.Connection, Scope, int, int], Item]
    """of a scope in [after, before), in microseconds"""

    @property
    def path(self) -> str:
        return f"/{self.name}"

    def add_to(
        self,
        router: AnswerRouter,
        word: str,
        answered: Callable[[WindowAnswer, HttpRequest, int, int], Item | HttpResponse],
    ) -> None:
        """Add its route to those of a timeline; `answered` is called with the window in microseconds."""

        def operation(
            request: HttpRequest, after: After = 0, before: Seconds = LATEST
        ) -> Item | HttpResponse:
            return answered(self, request, *window_of(after, before))

        name = self.name.replace("-", "_")
        operation.__name__, operation.__doc__ = name, self.meaning
        router.get(self.path, operation_id=f"{word}_{name}", response=self.schema)(operation)


def window_of(after: float, before: float) -> tuple[int, int]:
    """Return the times of a request in microseconds."""
    return round(after * 1e6), round(before * 1e6)
