"""Scopes of runs and links: the window and sections of a cluster that they show."""

from __future__ import annotations

from observatory.replay.pseudonyms import Pseudonyms, read_pseudonyms
from observatory.replay.scope import ALL_SECTIONS, Scope, Section
from observatory.runs.models import Permalink, Run
from observatory.store.times import MAXIMUM_TIME, to_microseconds


def scope_of_run(run: Run) -> Scope:
    return _scope(run, ALL_SECTIONS, is_public=False)


def scope_of_link(link: Permalink) -> Scope:
    """The run, without sections that can contain secrets unless the link includes them.

    Addresses are replaced by pseudonyms if the link hides them.
    """
    pseudonyms = read_pseudonyms(link.run.cluster) if link.hides_addresses else None
    return _scope(link.run, sections_of_link(link), is_public=True, pseudonyms=pseudonyms)


def sections_of_link(link: Permalink) -> frozenset[Section]:
    shown = {
        Section.LOGS: link.shows_logs,
        Section.CODE: link.shows_code,
        Section.TRACEBACKS: link.shows_tracebacks,
    }
    return frozenset(section for section, is_shown in shown.items() if is_shown)


def _scope(
    run: Run, sections: frozenset[Section], is_public: bool, pseudonyms: Pseudonyms | None = None
) -> Scope:
    return Scope(
        run.cluster,
        start=to_microseconds(run.start),
        stop=MAXIMUM_TIME if run.stop is None else to_microseconds(run.stop),
        sections=sections,
        is_public=is_public,
        pseudonyms=pseudonyms,
        name=run.name,
        run=run.pk,
        opened_as=run.code_id,
        tasks=run.tasks if run.counted else None,
        errors=run.errors if run.counted else None,
        end_reason=run.cluster.end_reason if _is_end_unseen(run) else "",
        attached_files=run.attached_files if Section.CODE in sections else 0,
    )


def _is_end_unseen(run: Run) -> bool:
    """Whether the cluster was no longer observed as the run went on: the reason is a sentence of our own."""
    return run.outcome == Run.Outcome.UNSEEN and run.cluster.is_unobserved
