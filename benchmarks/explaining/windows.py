"""The first findings of windows that are half and twice as long as a run, around what it was found to be."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.measuring.server import evaluated
from tests.browser.observatory import Observatory

CODE = """
import json
from observatory.runs.models import Run
from observatory.runs.sharing.scopes import scope_of_run
from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.findings.answer import findings
found = {}
for run in Run.objects.exclude(name="").exclude(name__contains=", twin ").filter(origin=Run.Origin.CODE):
    scope = scope_of_run(run)
    with read_connection() as connection:
        whole = findings(connection, scope, 0, MAXIMUM_TIME)
        if not whole["findings"]:
            continue
        start, stop = round(whole["start"] * 1e6), round(whole["stop"] * 1e6)
        quarter = (stop - start) // 4
        moments = [round(one["time"] * 1e6) for one in whole["findings"][0]["moments"]]
        cause = min(moments, default=(start + stop) // 2)
        middle = min(max(cause, start + quarter), stop - quarter)
        cluster = Scope(run.cluster)
        some = (
            findings(connection, scope, middle - quarter, middle + quarter),
            findings(connection, cluster, start - 2 * quarter, stop + 2 * quarter),
        )
        found[run.name] = [one["findings"][0]["kind"] if one["findings"] else None for one in some]
print(json.dumps(found))
"""


def read_windows(server: Observatory) -> dict[str, Any]:
    """By name of a run with findings: the kinds that are first in half of it, and in twice its length."""
    return dict(json.loads(evaluated(server, CODE)))
