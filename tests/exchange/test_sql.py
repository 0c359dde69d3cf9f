"""SQL for people: the API with their rights, the command, the client and the examples of docs/sql.md."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from observatory.alerts.models import Alert, Rule
from observatory.client import ObservatoryClient, ObservatoryError
from observatory.clusters.models import Cluster
from observatory.clusters.tokens import access_tokens
from observatory.exchange.sql import api
from observatory.runs.models import Run, RunError, RunFindings
from observatory.store.sql.limits import LONGEST_QUERY
from observatory.store.times import from_seconds
from tests.exchange.everything import START, STOP, write_everything
from tests.exchange.files import Store
from tests.support.projects import HOSTILE, World
from tests.support.response_schemas import assert_documented

PAGE = Path(__file__).parents[2] / "docs/sql.md"
FINDING = {
    "kind": "stragglers",
    "sentence": f"A task of {HOSTILE} took 10 s.",
    "thread_seconds": 8.0,
    "wall_seconds": 4.0,
    "prefixes": [HOSTILE, "sum"],
    "exception": "",
}


@pytest.fixture
def cluster(store: Store, world: World) -> Cluster:
    write_everything(world.ended.pk)
    return world.ended


@pytest.fixture
def run(cluster: Cluster, world: World) -> Run:
    """The only one of the viewer; with a finding, an error and an alert, all with hostile texts."""
    world.run.delete()
    start, stop = from_seconds(START), from_seconds(STOP)
    run = Run.objects.create(cluster=cluster, name=HOSTILE, origin="cut", start=start, stop=stop)
    RunFindings.objects.create(
        run=run, state="found", counted=stop, kind="stragglers", all=[FINDING, {**FINDING, "exception": "E"}]
    )
    RunError.objects.create(
        run=run,
        exception_type="ValueError",
        place=HOSTILE,
        prefix="sum",
        count=3,
        first=start,
        last=stop,
        last_id="00000000-0000-0000-0000-000000000001",
    )
    rule = Rule.objects.create(name=HOSTILE)
    Alert.objects.create(
        rule=rule, cluster=cluster, severity="warning", state="firing", pending=start, fired=stop
    )
    return run


def post(client: Client, query: str, **others: Any) -> Any:
    return client.post("/api/v1/sql", {"query": query, **others}, content_type="application/json")


def test_each_person_finds_the_clusters_that_they_may_see(cluster: Cluster, world: World) -> None:
    write_everything(world.elsewhere.pk)
    query = "SELECT DISTINCT clusters.name FROM spans JOIN clusters USING (project, cluster) ORDER BY 1"
    for role, status, names in (
        ("viewer", 200, [["evening"]]),
        ("outsider", 200, [[world.elsewhere.name]]),
        ("superuser", 200, sorted([["evening"], [world.elsewhere.name]])),
        ("nobody", 200, []),
        ("anonymous", 401, None),
    ):
        answer = post(world.client(role), query)
        assert answer.status_code == status, role
        assert answer.json().get("rows") == names


def test_what_somebody_names_must_be_theirs_to_see(cluster: Cluster, world: World) -> None:
    viewer = world.client("viewer")
    for named in ({"clusters": [world.elsewhere.pk]}, {"project": "beta"}, {"clusters": [10**6]}):
        answer = post(viewer, "SELECT 1", **named)
        assert answer.status_code == 404
        assert "that you may see" in answer.json()["detail"]
    assert post(viewer, "SELECT 1 AS one", clusters=[cluster.pk], project="alpha").json()["rows"] == [[1]]


def test_an_access_token_reads_without_a_scope_and_a_link_does_not(cluster: Cluster, world: World) -> None:
    secret = access_tokens.make(world.people["viewer"], "notebook", None)[1]
    answer = Client().post(
        "/api/v1/sql",
        {"query": "SELECT count(*) AS spans FROM spans"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert answer.json()["rows"] == [[13]]
    assert_documented(api.SqlRows, answer.json())
    assert post(Client(), "SELECT 1").status_code == 401


def test_runs_errors_findings_and_alerts_are_tables(run: Run, world: World) -> None:
    query = """
        SELECT runs.id, runs.name, findings.place, findings.prefixes[1] AS prefix, findings.exception,
            run_errors.count, alerts.rule, alerts.fired
        FROM runs JOIN findings ON findings.run = runs.id JOIN run_errors ON run_errors.run = runs.id
        JOIN alerts ON alerts.cluster = runs.cluster WHERE runs.outcome = 'running' ORDER BY findings.place"""
    fired = from_seconds(STOP).isoformat()
    assert post(world.client("viewer"), query).json()["rows"] == [
        [run.pk, HOSTILE, 1, HOSTILE, None, 3, HOSTILE, fired],
        [run.pk, HOSTILE, 2, HOSTILE, "E", 3, HOSTILE, fired],
    ]
    for table in ("runs", "run_errors", "findings", "alerts"):
        assert post(world.client("outsider"), f"SELECT * FROM {table}").json()["rows"] == [], table


def test_values_that_json_has_no_word_for_are_null_or_text(world: World) -> None:
    query = """
        SELECT 'nan'::DOUBLE, 1.5::DECIMAL(4, 1), INTERVAL 2 SECOND, DATE '2026-11-28', [1, NULL],
            {'x': 'inf'::DOUBLE}, '\\x00'::BLOB, true, 170141183460469231::HUGEINT"""
    [row] = post(world.client("viewer"), query).json()["rows"]
    assert row[:2] == [None, 1.5]
    assert row[3:6] == ["2026-11-28", [1, None], {"x": None}]
    assert row[6:8] == ["AA==", True]


def test_csv_has_no_formulas_and_arrow_all_types(run: Run, world: World) -> None:
    viewer = world.client("viewer")
    answer = post(viewer, "SELECT '=1+1' AS text, [1, 2] AS list, name FROM runs", format="csv")
    assert answer["Content-Type"].startswith("text/csv")
    assert list(csv.reader(io.StringIO(answer.content.decode()))) == [
        ["text", "list", "name"],
        ["'=1+1", "[1, 2]", HOSTILE],
    ]
    answer = post(viewer, "SELECT start FROM runs", format="arrow")
    [row] = pa.ipc.open_stream(answer.content).read_all().to_pylist()
    assert row["start"] == from_seconds(START)
    assert answer["X-Has-More"] == "false"


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"query": "SELECT * FROM nowhere"}, 422, "nowhere does not exist"),
        ({"query": "DROP TABLE spans"}, 422, "Only one query that begins with SELECT"),
        ({"query": ""}, 422, "query"),
        ({"query": "x" * (LONGEST_QUERY + 1)}, 422, "query"),
        ({}, 422, "query"),
        ({"query": "SELECT 1", "format": "xml"}, 422, "format"),
        ({"query": "SELECT 1", "after": -1}, 422, "after"),
        ({"query": "SELECT 1", "after": 1e300}, 422, "after"),
        ({"query": "SELECT 1", "clusters": [0]}, 422, "clusters"),
    ],
)
def test_what_is_wrong_with_a_request_is_named(
    body: dict[str, Any], status: int, said: str, world: World
) -> None:
    answer = world.client("viewer").post("/api/v1/sql", body, content_type="application/json")
    assert answer.status_code == status
    assert said in json.dumps(answer.json())


def test_a_process_runs_few_queries_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "AT_A_TIME", threading.BoundedSemaphore(1))
    monkeypatch.setattr(api, "LONGEST_WAIT", 0.1)
    with api.AT_A_TIME:
        answer = post(world.client("viewer"), "SELECT 1")
    assert (answer.status_code, answer.json()["detail"][:20]) == (429, "Other queries are ru")
    assert post(world.client("viewer"), "SELECT nothing").status_code == 422
    assert post(world.client("viewer"), "SELECT 1").status_code == 200, "a failed query gives its place back"


def test_the_tables_are_listed_with_their_columns(world: World) -> None:
    answer = world.client("viewer").get("/api/v1/sql").json()
    assert_documented(list[api.SqlTableOut], answer)
    [spans] = [table for table in answer if table["name"] == "spans"]
    assert {"name": "start", "type": "timestamp[us, tz=UTC]"} in spans["columns"]
    query = " UNION ALL ".join(
        f"(SELECT '{table['name']}' AS name FROM {table['name']} LIMIT 1)" for table in answer
    )
    assert post(world.client("superuser"), query).status_code == 200, "each of them is known"


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("sql", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_the_command_prints_a_table(run: Run, world: World) -> None:
    printed = command(
        "SELECT prefix, count(*) AS spans, NULL AS nothing FROM spans GROUP BY prefix ORDER BY 1"
    )
    assert printed.splitlines() == [
        "prefix         spans  nothing",
        "-------------  -----  -------",
        "load               4",
        "over-the-edge      1",
        "sum                8",
    ]
    assert "\x1b" not in command("SELECT chr(27) || '[2J' AS name")
    assert command("SELECT count(*) FROM spans", "--project", "alpha", "--before", "2020-01-01").endswith(
        "0\n"
    )
    assert "spans: a timed action" in command("--tables").lower()


def test_the_command_writes_files(run: Run, tmp_path: Path) -> None:
    query, file = "SELECT name, start FROM runs", tmp_path / "runs"
    command(query, "--format", "parquet", "--output", str(file))
    assert pq.read_table(file).to_pylist() == [{"name": HOSTILE, "start": from_seconds(START)}]
    command(query, "--format", "json", "--output", str(file))
    assert json.loads(file.read_text())[0]["name"] == HOSTILE


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Say a query"),
        (["SELEC"], "syntax error"),
        (["SELECT 1", "--format", "parquet"], "parquet needs --output"),
        (["SELECT 1", "--project", "none"], "no project 'none'"),
        (["SELECT 1", "--cluster", "99999"], "no cluster 99999"),
        (["SELECT 1", "--format", "csv", "--output", "/nowhere/x"], "can't be written"),
        (["SELECT error('\x1b[2J')"], "�[2J"),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], said: str, world: World) -> None:
    with pytest.raises(CommandError) as error:
        command(*arguments)
    assert said in str(error.value)


def test_the_client_returns_frames_with_times(run: Run, live_server: Any, world: World) -> None:
    secret = access_tokens.make(world.people["viewer"], "notebook", None)[1]
    client = ObservatoryClient(live_server.url, secret)
    frame = client.sql("SELECT name, start, stop FROM runs", clusters=[run.cluster_id])
    assert frame.to_dict("records")[0]["start"] == from_seconds(START)
    assert str(frame.start.dtype).startswith("datetime64")
    assert len(client.sql("SELECT start FROM runs WHERE false")) == 0
    with pytest.raises(ObservatoryError, match="422"):
        client.sql("SELECT nothing")


def test_the_examples_of_the_page_work(
    run: Run, live_server: Any, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = access_tokens.make(world.people["viewer"], "notebook", None)[1]
    [example] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    example = example.replace("https://observatory.example.org", live_server.url).replace("obp_…", secret)
    head, call = example.split("observatory.sql(")
    names: dict[str, Any] = {}
    exec(f"{head}found = observatory.sql({call}", names)
    assert names["found"].name.tolist() == [HOSTILE] * len(names["found"])
    assert names["found"].seconds.is_monotonic_decreasing
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^dask-observatory sql (.*)$", PAGE.read_text(), re.MULTILINE)
    assert len(examples) == 3
    for arguments in examples:
        command(*shlex.split(arguments))
    assert (tmp_path / "workers.parquet").exists()
    [body] = re.findall(r"-d '(.*?)'\n", PAGE.read_text())
    asked = {**json.loads(body), "project": "alpha"}
    assert post(world.client("viewer"), **asked).content.startswith(b"metric,most\r\n")
