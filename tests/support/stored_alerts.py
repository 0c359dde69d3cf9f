"""Alerts as the evaluator leaves them, for tests of what is shown of them."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Any

from observatory.alerts.models import Alert, Rule
from observatory.clusters.models import Cluster


def make_rule(name: str = "memory pressure", **fields: Any) -> Rule:
    known = {"description": f"what {name} means", "advice": f"what to do about {name}", **fields}
    return Rule.objects.update_or_create(name=name, defaults=known)[0]


def make_alert(
    cluster: Cluster,
    rule: str = "memory pressure",
    at: float = 60,
    fired: float | None = 70,
    resolved: float | None = None,
    origin: datetime | None = None,
    **fields: Any,
) -> Alert:
    """By times in seconds after its cluster began, or after `origin`; without `fired` it is pending."""
    begin = origin or cluster.started
    of = make_rule(rule)
    times = [None if time is None else begin + timedelta(seconds=time) for time in (at, fired, resolved)]
    state = "resolved" if times[2] else "firing" if times[1] else "pending"
    known = {"severity": "warning", "labels": {}, "value": 0.93 if fired is not None else None, **fields}
    identity = f"{of.pk} {cluster.pk} {known['labels']} {at}"
    return Alert.objects.create(
        rule=of,
        cluster=cluster,
        state=state,
        pending=times[0],
        fired=times[1],
        resolved=times[2],
        fingerprint=hashlib.md5(identity.encode()).hexdigest(),
        **known,
    )
