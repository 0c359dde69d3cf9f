"""What the pages that compare runs ask for."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from ninja.errors import HttpError
from ninja.responses import Response

from observatory.comparison.candidates import MOST_EARLIER, runs_to_compare
from observatory.comparison.compare import compare
from observatory.comparison.schemas import Comparison
from observatory.comparison.summary import TooLarge
from observatory.store.connection import read_connection

router = Router(tags=["comparison"])

Id = Annotated[int, Query(ge=1, lt=2**31)]


@router.get("/runs/compare", response=Comparison)
def compare_runs(
    request: HttpRequest,
    a: Id,
    b: Annotated[int | None, Query(ge=1, lt=2**31, description="another run")] = None,
    last: Annotated[
        int | None, Query(ge=1, le=MOST_EARLIER, description="instead of b: the runs of its name before it")
    ] = None,
) -> HttpResponse:
    """The run `a` beside `b`, or beside the median of the `last` runs of its name before it."""
    assert request.user.is_authenticated
    if (b is None) == (last is None):
        raise HttpError(422, "either b or last has to be given: what a is compared with")
    run, others = runs_to_compare(request.user, a, b, last)
    try:
        with read_connection() as connection:
            return Response(compare(connection, run, others))
    except TooLarge as error:
        raise HttpError(422, str(error)) from None
