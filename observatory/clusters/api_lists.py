"""Paging and validation that lists of the REST API share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from observatory.base.pages import page_of_rows


def page_of(
    found: QuerySet[Any], page: int, page_size: int, to_item: Callable[[Any], dict[str, Any]]
) -> dict[str, Any]:
    """A page of `found` as items. A page beyond the last one returns the last one."""
    shown = page_of_rows(found, page_size, page)
    return {
        "items": [to_item(each) for each in shown],
        "count": shown.paginator.count,
        "page": shown.number,
        "pages": shown.paginator.num_pages,
    }


def read_field(name: str, read: Callable[[Any], Any], value: Any) -> Any:
    """Applies `read` unless the value is None. Raises ValidationError with the name of the field."""
    try:
        return None if value is None else read(value)
    except ValidationError as error:
        raise ValidationError({name: error.messages}) from None
