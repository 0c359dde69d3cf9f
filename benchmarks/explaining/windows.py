"""The first findings of windows that are half and twice as long as a run, around what it was found to be."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.measuring.server import evaluated
from tests.browser.observatory import Observatory

OF_THE_MACHINE = "no-free-core"
"""the finding that is about what else runs here: twins have it as well, so it is neither right nor wrong"""
CODE = f"""
OF_THE_MACHINE = {OF_THE_MACHINE!r}
import json
from observatory.runs.models import Run
from observatory.runs.sharing.scopes import scope_of_run
from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.findings.answer import findings
found = dict()
for run in Run.objects.exclude(name="").exclude(name__contains=", twin ").filter(origin=Run.Origin.CODE):
    scope = scope_of_run(run)
    with read_connection() as connection:
        whole = findings(connection, scope, 0, MAXIMUM_TIME)
        ones = [one for one in whole["findings"] if one["kind"] != OF_THE_MACHINE]
        if not ones:
            continue
        start, stop = round(whole["start"] * 1e6), round(whole["stop"] * 1e6)
        quarter = (stop - start) // 4
        moments = [round(one["time"] * 1e6) for one in ones[0]["moments"]]
        cause = min(moments, default=(start + stop) // 2)
        middle = min(max(cause, start + quarter), stop - quarter)
        cluster = Scope(run.cluster)
        some = (
            findings(connection, scope, middle - quarter, middle + quarter),
            findings(connection, cluster, start - 2 * quarter, stop + 2 * quarter),
        )
        kinds = [[each["kind"] for each in one["findings"] if each["kind"] != OF_THE_MACHINE] for one in some]
        found[run.name] = [next(iter(of_window), None) for of_window in kinds]
print(json.dumps(found))
"""


def read_windows(server: Observatory) -> dict[str, Any]:
    """By name of a run with findings: the kinds that are first in half of it, and in twice its length."""
    return dict(json.loads(evaluated(server, CODE)))
