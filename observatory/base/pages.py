"""Pages of long lists."""

from __future__ import annotations

from typing import Any, TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


class KeysFirst(Paginator):  # type: ignore[type-arg]  # Django's takes no arguments when it runs
    """Finds a page's rows by their keys, and reads these alone.

    PostgreSQL sorts all rows before a late page: keys are small, and can come from an index.
    """

    object_list: QuerySet[Any]

    def page(self, number: int | str) -> Page[Any]:
        number = self.validate_number(number)
        first = (number - 1) * self.per_page
        keys = self.object_list.values_list("pk", flat=True)[first : first + self.per_page]
        return Page(list(self.object_list.filter(pk__in=list(keys))), number, self)


def page_of_rows(found: QuerySet[Row], size: int, number: int | str | None) -> Page[Row]:
    """The page `number` of `found`, which is in an order; the last one for numbers beyond it."""
    return KeysFirst(found, size).get_page(number)
