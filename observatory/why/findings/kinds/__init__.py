"""The kinds of findings: one module each, found by its file name. Adding a kind is adding a module.

Its folder says what the cause is about. A module holds `KIND`, a `FindingKind` (finding.py). docs/why.md says
what each means and how its cost is estimated.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from observatory.why.findings.finding import FindingKind


@cache
def finding_kinds() -> dict[str, FindingKind]:
    """All kinds by name, which is that of the module, with `-` for `_`."""
    found = [module.name for module in walk_packages(__path__, f"{__name__}.") if not module.ispkg]
    modules = {path.rpartition(".")[2]: path for path in found}
    return {name.replace("_", "-"): import_module(modules[name]).KIND for name in sorted(modules)}
