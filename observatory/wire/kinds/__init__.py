"""The kinds of records: one module each, found by its file name. Adding a kind is adding a module.

A module holds `RECORD_KIND`, a `Kind` (wire/kind.py). docs/wire-format.md is written from them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import replace

from observatory.wire.kind import Kind


def find() -> dict[str, Kind]:
    """The kinds of the modules in this package, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {
        name: replace(importlib.import_module(f"{__name__}.{name}").RECORD_KIND, name=name) for name in names
    }


KINDS: Mapping[str, Kind] = find()


def stored_kinds() -> tuple[Kind, ...]:
    """The kinds whose records have a table of their own."""
    return tuple(kind for kind in KINDS.values() if kind.has_table)
