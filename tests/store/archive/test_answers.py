"""Each page and request of the API that only reads answers the same, wherever the rows are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.config.api import api
from observatory.runs import search
from observatory.runs.models import Run
from observatory.store.archive import presence
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.rounds.round import archive_round
from observatory.store.reading import scanning
from tests.store.archive.conftest import remove_unused
from tests.store.archive.long_history import RARE, START, STEP, STEPS, key_of
from tests.support.projects import World, make_run

KEY, STOP = key_of(RARE), START + STEPS * STEP
KNOWN: dict[str, Any] = {
    "start": START - 10,
    "stop": STOP + 10,
    "at": START + 5,
    "time": START + 5,
    "key": KEY,
    "q": "load",
    "layer": "spans",
    "level": 4,
    "index": int(START) // 16,
    "kind": "span",
    "metric": "observatory_worker_memory_bytes",
    "prefix": "load",
    "version": 1,
}
"""parameters of requests by name"""
PAGES = (
    "/clusters/{cluster_id}/errors/",
    "/clusters/{cluster_id}/logs/",
    "/clusters/{cluster_id}/logs/?text=needle",
    "/clusters/{cluster_id}/tasks/?q=load",
    f"/clusters/{{cluster_id}}/tasks/?key={quote(KEY)}",
    "/clusters/{cluster_id}/",
    "/runs/{run_id}/",
    "/search/?q=load",
    "/errors/",
)
CHANGING = re.compile(rb'name="csrfmiddlewaretoken" value="\w+"|nonce="[^"]+"|"now": ?[\d.]+')


def paths(cluster: int, run: int) -> list[str]:
    """Of pages, and of all requests of the API that read something of a cluster or a run."""
    ids = {"cluster_id": cluster, "run_id": run}
    found = [page.format(**ids) for page in PAGES]
    for path, operations in api.get_openapi_schema()["paths"].items():
        names = re.findall(r"{(\w+)}", path)
        if "get" not in operations or not set(names) <= {*ids, *KNOWN} or not set(names) & set(ids):
            continue
        asked = [
            each["name"]
            for each in operations["get"].get("parameters", [])
            if each["in"] == "query" and each["name"] in KNOWN
        ]
        query = "&".join(f"{name}={quote(str(KNOWN[name]))}" for name in asked)
        found.append(path.format(**KNOWN, **ids) + (f"?{query}" if query else ""))
    return found


def answers(client: Client, asked: list[str]) -> dict[str, tuple[int, bytes]]:
    found = {}
    for path in asked:
        answer = client.get(path, follow=True)
        content = answer.getvalue() if answer.streaming else answer.content  # type: ignore[attr-defined]
        found[path] = answer.status_code, CHANGING.sub(b"", content)
    return found


@pytest.mark.parametrize("brought_back", [(), ("span", "sample", "log")], ids=["archived", "half"])
def test_what_people_and_programs_see_is_the_same(
    brought_back: tuple[str, ...],
    connection: psycopg.Connection,
    recorded: Cluster,
    world: World,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for budget in ("FIRST_BUDGET", "BUDGET", "CLUSTER_BUDGET"):  # a slow machine is to find all, too
        monkeypatch.setattr(search, budget, 1e9)
    monkeypatch.setattr(scanning, "OPENING", 1e9)  # nor come rows back behind what is compared
    cluster = recorded
    run: Run = make_run(cluster, "everything", minutes=STEPS * STEP / 60)
    client, asked = world.client("owner"), paths(cluster.pk, run.pk)
    expected = answers(client, asked)
    again = answers(client, asked)
    steady = {path for path in asked if again[path] == expected[path]}
    assert len(steady) > 0.9 * len(asked), set(asked) - steady
    found = [path for path in steady if expected[path][0] == 200]
    assert len(found) > 30, {path: expected[path][0] for path in asked}
    archive_round(seconds=3_600)
    assert remove_unused(connection, cluster.pk) > 0
    bring_back(cluster.pk, brought_back)
    removed = presence.removed_kinds(connection, cluster.pk)
    others = {}
    for path in found:
        if (answer := answers(client, [path])[path]) != expected[path]:
            others[path] = (answer, expected[path])
        if presence.removed_kinds(connection, cluster.pk) != removed:
            remove_unused(connection, cluster.pk)
            bring_back(cluster.pk, brought_back)
    assert sorted(others) == []
    assert others == {}
