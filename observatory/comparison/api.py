"""REST API of the comparison of runs."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from ninja.errors import HttpError
from ninja.responses import Response

from observatory.comparison.compare import compare
from observatory.comparison.run_selection import MOST_EARLIER, runs_to_compare
from observatory.comparison.run_summary import TooLarge
from observatory.comparison.schemas import Comparison
from observatory.store.connection import read_connection

router = Router(tags=["comparison"])

Id = Annotated[int, Query(ge=1, lt=2**31)]


@router.get("/runs/compare", response=Comparison)
def compare_runs(
    request: HttpRequest,
    a: Id,
    b: Annotated[int | None, Query(ge=1, lt=2**31, description="another run")] = None,
    last: Annotated[
        int | None,
        Query(ge=1, le=MOST_EARLIER, description="instead of b: this many earlier runs of the same name"),
    ] = None,
) -> HttpResponse:
    """Compares run `a` with `b`, or with the median of the `last` earlier runs of its name."""
    assert request.user.is_authenticated
    if (b is None) == (last is None):
        raise HttpError(422, "Give either b (a run) or last (a number of earlier runs) to compare a with.")
    run, others = runs_to_compare(request.user, a, b, last)
    try:
        with read_connection() as connection:
            return Response(compare(connection, run, others))
    except TooLarge as error:
        raise HttpError(422, str(error)) from None
