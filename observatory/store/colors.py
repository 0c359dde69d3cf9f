"""The colors of prefixes, which are Dask's own."""

from __future__ import annotations

from distributed.utils import color_of as _remembered_color_of


def color_of(name: str) -> str:
    """The color in which Dask shows a prefix (`#rrggbb`), without remembering it for good as Dask does."""
    return str(_remembered_color_of.__wrapped__(name))
