"""Headings of columns by which a list is sorted."""

from __future__ import annotations


def sorted_column(name: str, heading: str, first: str, order: str) -> dict[str, str]:
    """Context of a heading: its current order, and the order that a click applies.

    `order` is the name of the list's column, after “-” where it is descending; `first` is “-” for a column
    whose first order is descending.
    """
    sorted_by = {name: "ascending", f"-{name}": "descending"}.get(order, "")
    turned = name if order.startswith("-") else f"-{name}"
    return {
        "name": name,
        "heading": heading,
        "sorted": sorted_by,
        "order": turned if sorted_by else first + name,
    }
