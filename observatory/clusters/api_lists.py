"""What lists of the REST API share: a page of what was found, and fields of a query that are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet


def page_of(
    found: QuerySet[Any], page: int, page_size: int, told: Callable[[Any], dict[str, Any]]
) -> dict[str, Any]:
    """A page of it, each as `told` tells it; one beyond the last gives the last."""
    pages = Paginator(found, page_size)
    shown = pages.get_page(page)
    return {
        "items": [told(each) for each in shown],
        "count": pages.count,
        "page": shown.number,
        "pages": pages.num_pages,
    }


def read_field(name: str, read: Callable[[Any], Any], value: Any) -> Any:
    """None stays None. Raises ValidationError, which names the field."""
    try:
        return None if value is None else read(value)
    except ValidationError as error:
        raise ValidationError({name: error.messages}) from None
