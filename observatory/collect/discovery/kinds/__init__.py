"""The kinds of discoveries, one module each: its `DISCOVERY` says how a list is requested and read.

To add a kind, add a module here. The form, the API, the command and the pages use it by the module's name.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from observatory.collect.discovery.kind import DiscoveryKind

DEFAULT = "http_sd"


@cache
def discovery_kinds() -> dict[str, DiscoveryKind]:
    """All kinds by name, the default first."""
    names = sorted(
        (module.name for module in iter_modules(__path__)), key=lambda name: (name != DEFAULT, name)
    )
    return {name: import_module(f"{__name__}.{name}").DISCOVERY for name in names}


def kind_choices() -> list[tuple[str, str]]:
    """The kinds as choices of a form field."""
    return [(name, kind.label) for name, kind in discovery_kinds().items()]
