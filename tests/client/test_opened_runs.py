"""`observatory.run` in a real notebook, with a real cluster whose agent reports to a real server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from distributed import Client, LocalCluster

import observatory
import observatory.agent
from observatory.clusters.accounts.models import Membership
from observatory.clusters.tokens import access_tokens, ingest_tokens
from observatory.runs.models import Run
from observatory.store.client_runs import store_client_runs
from observatory.store.connection import connect
from observatory.wire.records import ClientRun
from tests.client.notebooks import execute
from tests.support.projects import HOSTILE, World

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
TABLE = re.compile(r"^\| (`newest.*?|`runs\..*?) \|", re.MULTILINE)
WORKERS = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "protocol": "tcp://"}
CELL = """
import observatory
from distributed import Client
client = Client({address!r}, set_as_default=True)
with observatory.run("etl <img src=x onerror=alert(1)>") as run:
    assert client.submit(sum, [1, 2]).result() == 3
run"""
ARRIVED = """
from observatory.client import Connection
from observatory.client.opened_runs import find_run
found = find_run(Connection({url!r}, {secret!r}, 300), run.id, 300)"""
"""waits until the agent has reported the run, however slow the machine is"""


@pytest.fixture
def reporting(transactional_db: None, world: World, live_server: Any) -> Any:
    """The address of a scheduler whose agent reports to the server."""
    _, secret = ingest_tokens.make(world.alpha, "tests", None)
    with LocalCluster(**WORKERS, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
        observatory.agent.register(client, url=live_server.url, token=secret, name="reporting")
        yield cluster.scheduler_address
        observatory.agent.unregister(client)


def test_a_run_in_a_notebook_shows_its_card_by_an_access_token(
    reporting: str, world: World, live_server: Any, tmp_path: Path
) -> None:
    _, secret = access_tokens.make(world.people["viewer"], "notebook", None)
    cells = (CELL.format(address=reporting), ARRIVED.format(url=live_server.url, secret=secret), "run")
    *_, [output] = execute(tmp_path, *cells, OBSERVATORY_URL=live_server.url, OBSERVATORY_ACCESS_TOKEN=secret)
    run = Run.objects.get(origin="code")
    html = output["data"]["text/html"]
    assert f'href="{live_server.url}/runs/{run.pk}/"' in html
    assert "etl &lt;img src=x" in html
    assert "<img" not in html
    assert "finished" in html
    assert f"{live_server.url}/runs/{run.pk}/" in output["data"]["text/plain"]


@pytest.mark.parametrize("token", ["", "obp_not_for_an_address_that_an_agent_tells"])
def test_without_token_or_address_it_shows_what_is_known_and_leads_to_its_page(
    reporting: str, world: World, live_server: Any, tmp_path: Path, token: str
) -> None:
    [[output]] = execute(
        tmp_path, CELL.format(address=reporting), OBSERVATORY_URL="", OBSERVATORY_ACCESS_TOKEN=token
    )
    html, text = output["data"]["text/html"], output["data"]["text/plain"]
    assert "<img" not in html
    assert f"Run “etl {HOSTILE}”: finished" in text
    hint = f"set OBSERVATORY_URL to {live_server.url} and OBSERVATORY_ACCESS_TOKEN to an access token of "
    assert f"{hint}{live_server.url}/account/tokens/" in text
    [link] = [line.strip() for line in text.splitlines() if "/runs/code/" in line]
    assert link in html


def test_a_run_that_no_agent_records_says_so(tmp_path: Path) -> None:
    with LocalCluster(**WORKERS, dashboard_address="127.0.0.1:0") as cluster:
        cell = CELL.format(address=cluster.scheduler_address)
        *_, output = execute(tmp_path, cell)[0]
    assert "It isn't recorded" in output["data"]["text/plain"]
    assert "<img" not in output["data"]["text/html"]


def test_a_run_that_was_not_entered_shows_its_name() -> None:
    opened = observatory.run(f"later {HOSTILE}")
    assert opened._repr_mimebundle_()["text/plain"] == f"Run “later {HOSTILE}”: not started"
    assert "<img" not in opened._repr_mimebundle_()["text/html"]


@pytest.mark.django_db(transaction=True)
def test_a_run_from_code_is_found_by_its_id_as_soon_as_it_was_reported(world: World) -> None:
    id = uuid4()
    path = f"/runs/code/{id}"
    viewer = world.client("viewer")
    assert viewer.get(f"/api/v1{path}").status_code == 404
    started = world.live.started.timestamp()
    with connect() as connection:
        report = ClientRun(id, started, started, "running", "etl", {}, "ada", "", "")
        store_client_runs(connection, world.live.pk, [report])
        connection.commit()
    assert world.client("outsider").get(f"/api/v1{path}").status_code == 404
    assert not Run.objects.filter(code_id=id).exists()
    found = viewer.get(f"/api/v1{path}").json()
    assert (found["name"], found["outcome"]) == ("etl", "running")
    assert viewer.get(f"{path}/").headers["Location"] == f"/runs/{found['id']}/"
    assert world.client("outsider").get(f"{path}/").status_code == 404
    Membership.objects.filter(user=world.people["viewer"]).delete()
    assert viewer.get(f"/api/v1{path}").status_code == 404


def test_the_documented_lines_run(reporting: str, world: World, live_server: Any, tmp_path: Path) -> None:
    _, secret = access_tokens.make(world.people["viewer"], "notebook", None)
    loaded, observed, opened, listed = CODE.findall((ROOT / "docs" / "notebook.md").read_text())
    prelude = (
        f"from distributed import Client\nclient = Client({reporting!r})\n"
        f"url, token = {live_server.url!r}, {secret!r}"
    )
    expressions = [
        expression
        for row in TABLE.findall((ROOT / "docs" / "notebook.md").read_text())
        for expression in re.findall("`([^`]+)`", row)
    ]
    assert len(expressions) >= 7
    numbers = {"compare(41)": "compare(newest)", "cluster(7)": "cluster(newest['cluster'])"}
    for name, known in numbers.items():
        expressions = [expression.replace(name, known) for expression in expressions]
    expressions = [expression for expression in expressions if "last=10" not in expression]
    outputs = execute(
        tmp_path,
        prelude,
        loaded,
        observed,
        opened,
        ARRIVED.format(url=live_server.url, secret=secret),
        listed,
        *expressions,
        OBSERVATORY_URL=live_server.url,
        OBSERVATORY_ACCESS_TOKEN=secret,
    )
    shown = [cell[-1]["data"] for cell in outputs if cell]
    assert len(shown) == 3 + len(expressions)
    for output in shown[:3]:
        assert "Run “nightly etl”" in output["text/plain"]
    assert shown[3]["text/plain"].startswith(f"'{live_server.url}/runs/")
    assert "application/vnd.plotly.v1+json" in shown[4]
