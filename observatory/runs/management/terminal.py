"""What commands share that print what was recorded of a cluster or a run."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import CommandError

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.runs.sharing.scopes import scope_of_run

PLACE = re.compile(r"(?:.*/)?(clusters|runs)/(\d{1,9})(?:/.*)?")
AGO = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d)")
UNITS = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days"}
TIME_HELP = "a time in ISO 8601 (UTC), or how long ago: 30s, 5min, 2h, 1d"
SCOPE_HELP = "a name, of which the newest is taken, or clusters/ID, runs/ID"


def find_scope(text: str) -> Scope:
    """Return the cluster or run with this address or name. Raises CommandError."""
    place = PLACE.fullmatch(text)
    if place:
        known: Any = Cluster.objects if place[1] == "clusters" else Run.objects.select_related("cluster")
        found = known.filter(pk=int(place[2])).first()
    else:
        runs = Run.objects.select_related("cluster").filter(name=text).order_by("-start", "-pk")
        found = runs.first() or Cluster.objects.filter(name=text).order_by("-started", "-pk").first()
    if found is None:
        raise CommandError(f"There is no cluster and no run {text!r}.")
    return scope_of_run(found) if isinstance(found, Run) else Scope(found)


def clean(text: str) -> str:
    """Replace control characters, which a terminal would obey."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "�" for letter in text)


def parse_time(text: str) -> datetime:
    """Return a time from ISO 8601, or from how long ago it was. Raises ValueError."""
    ago = AGO.fullmatch(text.strip())
    if ago:
        return datetime.now(UTC) - timedelta(**{UNITS[ago[2]]: float(ago[1])})
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
