"""What a cell of a notebook shows of a run or a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse

from observatory.clusters.models import Cluster
from observatory.comparison.card.drawing import drawn_card
from observatory.comparison.compare import compare
from observatory.pages.notebook.small_task_stream import small_task_stream
from observatory.replay.scope import Scope
from observatory.runs.models import Run, RunFindings
from observatory.runs.sharing.scopes import scope_of_run
from observatory.runs.summary import summary
from observatory.store.connection import build_connection, read_connection
from observatory.store.queries.extents import extents
from observatory.store.times import MAXIMUM_TIME
from observatory.why.kept import StillLooking
from observatory.why.marks.marked import marked_findings
from observatory.why.window import TooManyTasks
from observatory.wire.records import printable

State = RunFindings.State
MOST_RUNS = 5
"""of a cluster: the newest"""

Item = dict[str, Any]


def run_output(request: HttpRequest, run: Run) -> Item:
    scope = scope_of_run(run)
    known = run.known_findings
    is_final = known is not None and known.state != State.LOOKING and run.counted is not None
    card = drawn_card(run, scope)
    context = {
        "run": run,
        "card": card,
        "summary": summary(run),
        "finding": _main_finding(run, scope, card["main_finding"]),
        "stream": small_task_stream(scope),
    }
    return _output("run", context, _address(request, reverse("run", args=[run.pk])), is_final)


def cluster_output(request: HttpRequest, cluster: Cluster) -> Item:
    context = {
        "cluster": cluster,
        "counts": extents([cluster.pk]).get(cluster.pk),
        "runs": cluster.runs.select_related("findings")[:MOST_RUNS],
        "stream": small_task_stream(Scope(cluster)),
    }
    return _output(
        "cluster", context, _address(request, reverse("cluster", args=[cluster.pk])), not cluster.is_live
    )


def findings_output(request: HttpRequest, run: Run) -> Item:
    """Raises TooManyTasks and StillLooking."""
    with build_connection() as connection:
        found = marked_findings(connection, scope_of_run(run), 0, MAXIMUM_TIME)["findings"]
    url = f"{_address(request, reverse('run', args=[run.pk]))}?tab=why"
    return _output("findings", {"run": run, "findings": found}, url, run.stop is not None)


def comparison_output(request: HttpRequest, run: Run, others: Sequence[Run], last: int | None) -> Item:
    """`others` as of runs_to_compare. Raises TooLarge."""
    with read_connection() as connection:
        found = compare(connection, run, others)
    pairs = found["findings"]["pairs"]
    context = {
        "found": found,
        "starts": [each.start for each in (run, *others)],
        "is_median": last is not None,
        "prefixes": [prefix for prefix in found["prefixes"] if prefix["verdict"] in ("slower", "faster")],
        "findings": [pair for pair in pairs if pair["verdict"] in ("new", "gone")],
    }
    query = urlencode({"a": run.pk, **({"b": others[0].pk} if last is None else {"last": last})})
    url = f"{_address(request, reverse('runs-compare'))}?{query}"
    return _output("comparison", context, url, True)


def _output(subject: str, context: Item, url: str, is_final: bool) -> Item:
    context = {**context, "url": url}
    text = render_to_string(f"pages/notebook/{subject}.txt", context)
    return {
        "html": render_to_string(f"pages/notebook/{subject}.html", context),
        "text": "\n".join(printable(line) for line in text.splitlines() if line.strip()),
        "url": url,
        "is_final": is_final,
    }


def _main_finding(run: Run, scope: Scope, known: Item | None) -> Item | None:
    """The kept one; of a run that ended just now, it is looked for."""
    if run.stop is None or (known is not None and known["state"] != State.LOOKING):
        return known
    try:
        with build_connection() as connection:
            answer = marked_findings(connection, scope, 0, MAXIMUM_TIME)["findings"]
    except (TooManyTasks, StillLooking):
        return known
    main = next((one for one in answer if not one.get("mark")), None)
    if main is not None:
        return {"state": State.FOUND, **main}
    return {"state": State.MARKED if answer else State.NONE}


def _address(request: HttpRequest, path: str) -> str:
    """The absolute URL of a page, as browsers open it. `path` begins with SUB_PATH."""
    site = settings.PUBLIC_URL.removesuffix(settings.SUB_PATH) if settings.PUBLIC_URL else ""
    return f"{site or f'{request.scheme}://{request.get_host()}'}{path}"
