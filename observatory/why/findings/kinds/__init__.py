"""The kinds of findings: one module each, found by its file name. Adding a kind is adding a module.

A module holds `KIND`, a `FindingKind` (finding.py). docs/why.md says what each means and how its cost is
estimated.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from observatory.why.findings.finding import FindingKind


@cache
def finding_kinds() -> dict[str, FindingKind]:
    """All kinds by name; `-` where the module has `_`."""
    names = sorted(module.name for module in iter_modules(__path__))
    return {name.replace("_", "-"): import_module(f"{__name__}.{name}").KIND for name in names}
