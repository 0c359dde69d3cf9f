"""What of a cluster a run, and a link to it, shows."""

from __future__ import annotations

from observatory.replay.scope import ALL_PARTS, Part, Scope
from observatory.replay.tiles.levels import LATEST
from observatory.runs.models import Permalink, Run
from observatory.store.queries.timeline import microseconds


def scope_of_run(run: Run) -> Scope:
    return _scope(run, ALL_PARTS, is_public=False)


def scope_of_link(link: Permalink) -> Scope:
    """What anyone with the link sees: the run, without what can hold secrets unless it was ticked."""
    told = {
        Part.LOGS: link.shows_logs,
        Part.CODE: link.shows_code,
        Part.TRACEBACKS: link.shows_tracebacks,
    }
    return _scope(link.run, frozenset(part for part, is_shown in told.items() if is_shown), is_public=True)


def _scope(run: Run, parts: frozenset[Part], is_public: bool) -> Scope:
    return Scope(
        run.cluster,
        start=microseconds(run.start),
        stop=LATEST if run.stop is None else microseconds(run.stop),
        parts=parts,
        is_public=is_public,
        name=run.name,
        tasks=run.tasks,
        errors=run.errors,
    )
