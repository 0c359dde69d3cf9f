"""A check as a table for the terminal."""

from __future__ import annotations

from observatory.client.check.texts import TITLES, VERDICTS, Item, against, findings, line

WIDTH = 12
"""of a column"""


def table(check: Item, address: str) -> str:
    """Lines of a run's check; `address` is that of the run's page, or "" without a server."""
    run = check["run"]
    head = f"{line(run['name'])}, against {against(check)}: {VERDICTS[check['verdict']]}"
    rows = [
        f"  {TITLES[each['name']]:<{WIDTH}} {VERDICTS[each['verdict']]:<{WIDTH}} {line(each['sentence'])}"
        for each in check["criteria"]
    ]
    more = [line(check["headline"])] if check["headline"] else []
    more += [f"new finding: {line(each['sentence'])}" for each in check["findings"]["new"]]
    more += [] if check["findings"]["new"] else findings(check)
    return "\n".join([head, *rows, *(f"  {each}" for each in [*more, address] if each)])
