"""The view in which a link opens: the query of its address, with what the link shows."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from urllib.parse import parse_qsl, urlencode

from observatory.replay.scope import Scope, Section
from observatory.store.connection import read_connection
from observatory.store.keys import find_keys
from observatory.store.queries.tasks.lineage import ClusterWindow, spans_of_task
from observatory.store.queries.timeline import snapshot
from observatory.wire.records import clean_key

Show = Callable[[Scope, str], str]
"""returns a value as a scope shows it; "": it does not"""


def _as_it_is(scope: Scope, value: str) -> str:
    return value


def _text(scope: Scope, value: str) -> str:
    return scope.text(value)


def _time(scope: Scope, value: str) -> str:
    try:
        time = float(value)
    except ValueError:
        return ""
    if not isfinite(time):
        return ""
    return f"{min(max(time, scope.start / 1e6), scope.stop / 1e6):.3f}"


def _key(scope: Scope, value: str) -> str:
    """A key that the scope shows changed is not shown, nor one of a task that did not compute in it."""
    if scope.text(value) != value:
        return ""
    window = ClusterWindow(scope.cluster.pk, *scope.window)
    with read_connection() as connection, snapshot(connection):
        keys = find_keys(connection, window.cluster, clean_key(value))
        return value if spans_of_task(connection, window, keys, 1) else ""


def _in(section: Section, show: Show) -> Show:
    return lambda scope, value: show(scope, value) if section in scope.sections else ""


SHOWN: dict[str, Show] = {
    **dict.fromkeys(("from", "to", "at"), _time),
    **dict.fromkeys(
        ("tab", "live", "speed", "charts", "worker", "prefix", "hide", "sort", "only", "heat", "rank"),
        _as_it_is,
    ),
    "key": _key,
    "rows": _text,
    **dict.fromkeys(("level", "process", "regex"), _in(Section.LOGS, _as_it_is)),
    **dict.fromkeys(("logger", "match"), _in(Section.LOGS, _text)),
    "zoom": _in(Section.CODE, _text),
}
"""parameters of a view (frontend/timeline/address.js) that a public link has; labels, other runs and other
windows are none of them"""


def shown_place(scope: Scope, place: str) -> str:
    """Return the query of a view as a public scope shows it."""
    shown = [
        (name, SHOWN[name](scope, value))
        for name, value in parse_qsl(place, keep_blank_values=True)
        if name in SHOWN
    ]
    return urlencode([(name, value) for name, value in shown if value])
