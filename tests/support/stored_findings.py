"""Findings of runs, as if somebody had looked at them."""

from __future__ import annotations

from typing import Any

from django.utils.timezone import now

from observatory.runs.models import Run, RunFindings

MAIN = ("kind", "sentence", "thread_seconds", "wall_seconds")


def finding(
    kind: str, seconds: float, *prefixes: str, sentence: str = "", exception: str = ""
) -> dict[str, Any]:
    sentence = sentence or f"{kind} of {', '.join(prefixes) or 'all'} cost {seconds}."
    costs = {"thread_seconds": seconds, "wall_seconds": seconds / 2}
    return {"kind": kind, "sentence": sentence, **costs, "prefixes": list(prefixes), "exception": exception}


def keep(run: Run, *found: dict[str, Any], state: str = "") -> Run:
    """The first is the main finding. `state`: why there is none."""
    main = {name: found[0][name] for name in MAIN} if found else {}
    state = state or ("found" if found else "none")
    RunFindings.objects.create(run=run, state=state, counted=now(), all=list(found), **main)
    return run
