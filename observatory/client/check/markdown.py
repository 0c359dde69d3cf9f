"""Checks as Markdown, for the comment of a pull request or the summary of a job."""

from __future__ import annotations

from collections.abc import Sequence

from observatory.client.check.texts import TITLES, Item, against, findings, markdown

MARKS = {"worse": "❌", "unclear": "❔", "fine": "✅", "skipped": "➖"}
HEADS = {
    "worse": "worse than before",
    "unclear": "it can't be told whether it is worse",
    "fine": "not worse than before",
}


def document(checks: Sequence[Item], url: str) -> str:
    """`url` is that of the server, or "" without one: then there are no links."""
    return "\n\n".join(_check(each, url) for each in checks) + "\n"


def _check(check: Item, url: str) -> str:
    run = check["run"]
    name = markdown(run["name"])
    title = f"[{name}]({url}/runs/{int(run['id'])}/)" if url else name
    rows = [
        f"| {MARKS[each['verdict']]} | {TITLES[each['name']]} | {markdown(each['sentence'])} |"
        for each in check["criteria"]
        if each["verdict"] != "skipped"
    ]
    parts = [
        f"### {MARKS[check['verdict']]} {title}: {HEADS[check['verdict']]}",
        f"Compared with {markdown(against(check))}.",
        "\n".join(["| | | |", "| --- | --- | --- |", *rows]),
    ]
    if check["headline"]:
        parts.append(f"{markdown(check['headline'])}.")
    parts.append(_findings(check))
    if url:
        parts.append(_links(check, url))
    return "\n\n".join(parts)


def _findings(check: Item) -> str:
    said = [markdown(each) for each in findings(check)]
    if not check["findings"]["new"]:
        return said[0]
    return "\n".join(["**New findings**", "", *(f"- {each}" for each in said)])


def _links(check: Item, url: str) -> str:
    run = int(check["run"]["id"])
    links = [f"[Why?]({url}/runs/{run}/?tab=why)"]
    if check["earlier"]:
        before = int(check["earlier"][0]["id"])
        links.append(f"[compare with the run before]({url}/runs/compare/?a={run}&b={before})")
    return " · ".join(links)
