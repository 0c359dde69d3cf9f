"""The labels of a worker, such as its version or zone, as its own environment or configuration sets them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from dask import config

VARIABLE = "OBSERVATORY_LABELS"
"""`version=2026.11,zone=b`"""
SETTING = "observatory.labels"
"""a mapping, or a text like that of the variable"""
MOST_LABELS = 20
LONGEST_NAME, LONGEST_VALUE = 50, 100
"""characters"""
RESERVED = ("host", "none")
"""what workers are grouped by without labels"""

logger = logging.getLogger("distributed.observatory.labels")


def labels_of_process() -> dict[str, str]:
    """The labels by name. What can't be a label is left out, and logged in one line."""
    given = os.environ.get(VARIABLE) or config.get(SETTING, None)
    found: dict[str, str] = {}
    wrong = []
    for name, value in _pairs(given):
        label, text = name.strip(), value.strip()
        fits = 0 < len(label) <= LONGEST_NAME and 0 < len(text) <= LONGEST_VALUE
        if fits and label not in RESERVED and (label + text).isprintable():
            found[label] = text
        else:
            wrong.append(label[:LONGEST_NAME] or "one without a name")
    if wrong or len(found) > MOST_LABELS:
        logger.warning(
            "Observatory's agent leaves labels out: %r. A label is name=value, of at most %d and %d "
            "printable characters, and not called %s; a worker has at most %d.",
            (wrong + list(found)[MOST_LABELS:])[:MOST_LABELS],
            LONGEST_NAME,
            LONGEST_VALUE,
            " or ".join(RESERVED),
            MOST_LABELS,
        )
    return dict(islice(found.items(), MOST_LABELS))


def _pairs(given: Any) -> Iterator[tuple[str, str]]:
    if isinstance(given, Mapping):
        for name, value in given.items():
            yield str(name), str(value) if isinstance(value, (str, int, float)) else ""
    elif given:
        for part in filter(str.strip, str(given).split(",")):
            name, _, value = part.partition("=")
            yield name, value
