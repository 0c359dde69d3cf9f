"""Grafana's provisioned dashboards: each query runs as the role of sql_access, over a real recording."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from observatory.alerts.models import Alert, Rule
from observatory.runs.models import RunError, RunFindings
from observatory.store.connection import connect, parameters
from observatory.store.sql.roles import make_role, remove_role
from tests.support.observed_cluster import Observed, agent_server, observed
from tests.support.projects import World, world

__all__ = ["agent_server", "observed", "world"]

FOLDER = Path(__file__).parents[2] / "deploy/grafana"
DASHBOARDS = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("dashboards/*.json"))}
QUERIES = [
    (name, panel["title"], target["format"], target["rawSql"])
    for name, dashboard in DASHBOARDS.items()
    for panel in dashboard["panels"]
    for target in panel["targets"]
] + [
    (name, variable["name"], "variable", variable["query"])
    for name, dashboard in DASHBOARDS.items()
    for variable in dashboard["templating"]["list"]
]
HOSTILE = "'; DROP TABLE sample; --"


def expanded(sql: str, start: datetime, stop: datetime, **variables: str) -> str:
    """As Grafana's PostgreSQL data source expands its macros and variables."""
    first, last = (f"'{time:%Y-%m-%dT%H:%M:%S.%fZ}'" for time in (start, stop))
    for name, value in variables.items():
        quoted = "'" + value.replace("'", "''") + "'"
        sql = sql.replace(f"${{{name}:sqlstring}}", quoted)
    sql = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 BETWEEN {first} AND {last}", sql)
    sql = sql.replace("$__timeFrom()", first).replace("$__timeTo()", last)
    group = r"floor(extract(epoch from \1)/1)*1 AS " + '"time"'
    sql = re.sub(r"\$__timeGroupAlias\((\w+), \$__interval\)", group, sql)
    assert "$" not in sql, sql
    return sql


@pytest.fixture
def recording(observed: Observed, world: World) -> Observed:
    """With a finding, an error of the run, and an alert."""
    run = observed.run
    finding = {"kind": "stragglers", "sentence": "One.", "thread_seconds": 8.5, "wall_seconds": 4.0}
    RunFindings.objects.create(
        run=run, state="found", counted=run.stop, all=[{**finding, "prefixes": ["a"], "exception": ""}]
    )
    RunError.objects.create(
        run=run, place="p", prefix="sum", count=3, first=run.start, last=run.stop, last_id="0" * 32
    )
    rule = Rule.objects.create(name="a rule")
    times = {"pending": run.start, "fired": run.start + timedelta(seconds=1)}
    Alert.objects.create(rule=rule, cluster=observed.cluster, severity="warning", state="firing", **times)
    return observed


@pytest.fixture
def role(recording: Observed, world: World) -> Iterator[psycopg.Connection]:
    """Signed in as Alpha's role."""
    with connect() as owner:
        access = make_role(owner, world.alpha.pk)
        own = {**parameters(), "user": access.role, "password": access.password}
        with psycopg.connect(**own, autocommit=True) as connection:
            yield connection
        remove_role(owner, world.alpha.pk)


def variables(recording: Observed) -> dict[str, str]:
    return {"cluster": recording.cluster.scheduler_id, "run": str(recording.run.pk)}


def test_every_query_answers_from_a_recording_as_the_role(
    role: psycopg.Connection, recording: Observed
) -> None:
    assert recording.run.stop is not None
    window = recording.run.start - timedelta(minutes=1), recording.run.stop + timedelta(minutes=1)
    assert len(QUERIES) > 25
    for dashboard, title, format, sql in QUERIES:
        cursor = role.execute(expanded(sql, *window, **variables(recording)).encode())
        names = [column.name for column in cursor.description or ()]
        rows = cursor.fetchall()
        assert rows, f"{dashboard}: {title} is empty"
        if format == "time_series":
            assert names == ["time", "metric", "value"], title
            for time, metric, value in rows:
                assert window[0] <= datetime.fromtimestamp(float(time), UTC) <= window[1]
                assert isinstance(metric, str)
                assert isinstance(value, int | float)
        elif format == "variable":
            assert names == ["__text", "__value"]
            chosen = variables(recording)[title]
            assert chosen in [value for _, value in rows]


def test_what_somebody_puts_into_a_variable_is_a_text(role: psycopg.Connection, recording: Observed) -> None:
    start = recording.run.start
    for _, title, format, sql in QUERIES:
        if "${cluster:sqlstring}" in sql:
            text = expanded(sql, start, start + timedelta(minutes=9), cluster=HOSTILE)
            assert role.execute(text.encode()).fetchall() == [], title
        assert format in ("table", "time_series", "variable")


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_is_whole(name: str) -> None:
    dashboard: dict[str, Any] = DASHBOARDS[name]
    assert dashboard["uid"] == f"observatory-{name}"
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for box in (panel["gridPos"] for panel in panels)
        for x in range(box["x"], box["x"] + box["w"])
        for y in range(box["y"], box["y"] + box["h"])
    ]
    assert len(cells) == len(set(cells)), "panels overlap"
    assert max(x for x, _ in cells) < 24
    named = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = {name for sql in re.findall(r"\$\{(\w+)", json.dumps(panels)) for name in [sql]}
    assert used == named
    for panel in panels:
        for part in (panel, *panel["targets"]):
            assert part["datasource"]["uid"] == "observatory"


def test_the_provisioned_source_is_the_one_of_the_dashboards() -> None:
    [source] = yaml.safe_load((FOLDER / "provisioning/datasources/observatory.yaml").read_text())[
        "datasources"
    ]
    assert source["uid"] == "observatory"
    assert source["type"] == "grafana-postgresql-datasource"
    [provider] = yaml.safe_load((FOLDER / "provisioning/dashboards/observatory.yaml").read_text())[
        "providers"
    ]
    assert provider["type"] == "file"
