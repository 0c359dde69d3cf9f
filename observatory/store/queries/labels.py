"""Decodes the labels of series: equal ones, as the series of all workers have, only once."""

from __future__ import annotations

import json
from collections.abc import Iterable


def decode_labels(texts: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return labels by their text, a column `labels::text`. They are shared, and must not be changed."""
    return {text: json.loads(text) for text in set(texts)}
