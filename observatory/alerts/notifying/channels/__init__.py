"""The kinds of channels, one module each: its `CHANNEL` says how a channel of that kind works.

To add a kind, add a module here. Forms, address checks, sending and the docs use it by the module's name.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from observatory.alerts.notifying.channel_kind import ChannelKind

DEFAULT = "apprise"


@cache
def channel_kinds() -> dict[str, ChannelKind]:
    """All kinds by name, the default first."""
    names = sorted(
        (module.name for module in iter_modules(__path__)), key=lambda name: (name != DEFAULT, name)
    )
    return {name: import_module(f"{__name__}.{name}").CHANNEL for name in names}


def kind_choices() -> list[tuple[str, str]]:
    """The kinds as choices of a form field."""
    return [(name, kind.label) for name, kind in channel_kinds().items()]
