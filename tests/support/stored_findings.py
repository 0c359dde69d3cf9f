"""Findings of runs, as if somebody had looked at them."""

from __future__ import annotations

from typing import Any

from django.utils.timezone import now

from observatory.runs.models import Run, RunFindings


def finding(kind: str, seconds: float, *prefixes: str, sentence: str = "") -> dict[str, Any]:
    sentence = sentence or f"{kind} of {', '.join(prefixes) or 'all'} cost {seconds}."
    costs = {"thread_seconds": seconds, "wall_seconds": seconds / 2}
    return {"kind": kind, "sentence": sentence, **costs, "prefixes": list(prefixes)}


def keep(run: Run, *found: dict[str, Any], state: str = "") -> Run:
    """The first is the main finding. `state`: why there is none."""
    main = {name: value for name, value in found[0].items() if name != "prefixes"} if found else {}
    state = state or ("found" if found else "none")
    RunFindings.objects.create(run=run, state=state, counted=now(), all=list(found), **main)
    return run
