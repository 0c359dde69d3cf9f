"""A kind of record that is declared in one new file: from an agent to a DataFrame and a bundle."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command

from observatory.agent.configuration import read_configuration
from observatory.agent.delivery.buffer import Buffer
from observatory.agent.delivery.sender import ClusterInfo, Sender
from observatory.client import ObservatoryClient
from observatory.clusters.models import Cluster
from observatory.clusters.tokens import access_tokens, ingest_tokens
from observatory.exchange.formats import FORMATS
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.runs.models import Run
from observatory.runs.sharing.scopes import scope_of_run
from observatory.store.engines import choose
from observatory.store.maintenance.retention import apply_retention
from observatory.store.schema.time_series import table_of
from observatory.store.times import from_seconds
from observatory.wire import kinds
from tests.docs.scripts import load_script
from tests.support.projects import World

MODULE = '''
"""Pauses of tasks: made up for a test."""

from observatory.wire.columns import ColumnType
from observatory.wire.kind import As, Field, Importance, Kind, Label, Type, WorkerReference

RECORD_KIND = Kind(
    meaning="A pause of a task.",
    importance=Importance.TASKS,
    fields=(
        Field("start", Type.TIME, "start of the pause", "s", "Pause.start"),
        Field("stop", Type.TIME, "end of the pause", "s", "Pause.stop"),
        Field("key", Type.KEY, "the task", "", "Pause.key"),
        Field("worker", Type.NAME, "address of the worker", "", "Pause.worker", WorkerReference()),
        Field("cause", Type.NAME, "memory or spill", "", "Pause.cause", Label(("memory", "spill"))),
        Field("level", Type.INTEGER, "how urgent", "", "Pause.level", As(ColumnType.SMALLINT)),
        Field("nbytes", Type.REAL, "memory that was freed", "B", "Pause.nbytes", As(ColumnType.BIGINT)),
        Field("ratio", Type.REAL, "share of the limit", "", "Pause.ratio"),
        Field("note", Type.TEXT, "remark", "", "Pause.note", part="logs"),
        Field("detail", Type.JSON, "object", "", "Pause.detail"),
    ),
    keep_days=3,
)
'''
WORKER, NOBODY = "tcp://10.0.0.7:4000", "tcp://10.0.0.8:4000"


@pytest.fixture
def pause(transactional_db: None, connection: psycopg.Connection, tmp_path: Path) -> Iterator[str]:
    """The name of the kind, which has its table."""
    (tmp_path / "pause.py").write_text(MODULE)
    # the other fixtures end when the kind is gone
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
        patch.setitem(kinds.KINDS, "pause", kinds.find()["pause"])  # type: ignore[arg-type]
        call_command("migrate", verbosity=0)
        yield "pause"
    connection.execute("DROP TABLE pause")
    sys.modules.pop("observatory.wire.kinds.pause")


def rows_of_pauses(now: float) -> list[tuple[Any, ...]]:
    detail = json.dumps({"a": [1, None]})
    return [
        (now + 1, now + 1.5, "('load-1f', 0)", WORKER, "spill", 2, 2.0**40, 0.5, "it paused", detail),
        (now + 2, now + 2.5, "('load-1f', 1)", NOBODY, "unheard of", -70_000, 0.0, 0.25, "é", "{}"),
    ]


def sent(rows: list[tuple[Any, ...]], now: float, url: str, world: World, folder: Path) -> Run:
    """The run of a cluster whose agent sent the rows."""
    secret = ingest_tokens.make(world.alpha, "agent", None)[1]
    settings = read_configuration(
        url=url, token=secret, flush_interval=0.05, spool_directory=str(folder / "spool")
    )
    cluster = ClusterInfo("Scheduler-9", "paused", "tcp://10.0.0.9:8786", now, now)
    sender = Sender(settings, cluster, Buffer())
    sender.start()
    sender.buffer.appender("worker")((now, WORKER, "w0", "10.0.0.7", 2, 0.0, "running", "{}", "{}"))
    for row in rows:
        sender.buffer.appender("pause")(row)
    sender.close(30)
    stored = Cluster.objects.get(name="paused")
    return Run.objects.create(
        cluster=stored,
        name="pauses",
        origin=Run.Origin.CUT,
        start=from_seconds(now),
        stop=from_seconds(now + 10),
    )


def test_a_kind_in_a_new_file_is_sent_stored_read_exported_and_imported(
    pause: str, world: World, live_server: Any, connection: psycopg.Connection, tmp_path: Path
) -> None:
    now = float(int(time.time()) - 100)
    rows = rows_of_pauses(now)
    run = sent(rows, now, live_server.url, world, tmp_path)
    client = ObservatoryClient(
        live_server.url, access_tokens.make(world.people["viewer"], "notebook", None)[1]
    )
    assert client.kinds(run.pk)[pause] == {
        "start": "time",
        "stop": "time",
        "key": "text",
        "prefix": "text",
        "group": "text",
        "worker": "text",
        "worker_name": "text",
        "cause": "text",
        "level": "integer",
        "nbytes": "integer",
        "ratio": "real",
        "note": "text",
        "detail": "json",
    }
    found = client.records(run.pk, pause)
    expected = [
        ("('load-1f', 0)", "load", "load-1f", WORKER, "w0", "spill", 2, 2**40, 0.5, "it paused"),
        ("('load-1f', 1)", "load", "load-1f", "", "", "unknown", -(2**15), 0, 0.25, "é"),
    ]
    assert (
        list(found.drop(columns=["start", "stop", "detail"]).itertuples(index=False, name=None)) == expected
    )
    assert [time.timestamp() for time in found["stop"]] == [row[1] for row in rows]
    assert list(map(json.loads, found["detail"])) == [{"a": [1, None]}, {}]
    assert len(client.records(run.pk, pause, column="cause", value="spill")) == 1

    exported = io.BytesIO()
    FORMATS["bundle"].write(scope_of_run(run), "pauses", exported, lambda done: None)
    bundle = tmp_path / "pauses.observatory.zip"
    bundle.write_bytes(exported.getvalue())
    imported = import_file(bundle, Destination(world.beta), lambda done: None)
    query = "SELECT start, key_rest, cause, level, nbytes, note FROM pause WHERE cluster_id = %s ORDER BY 1"
    copies = [connection.execute(query, [id]).fetchall() for id in (run.cluster_id, imported.cluster_id)]
    assert copies[0] == copies[1]
    assert len(copies[1]) == 2


def test_a_kinds_own_retention_deletes_its_records_earlier(
    pause: str, connection: psycopg.Connection
) -> None:
    assert table_of(pause).keep_days == 3
    today = datetime.now(UTC)
    apply_retention({}, 30, today + timedelta(days=40))
    choose(connection).prepare(
        connection, table_of(pause), [(today - timedelta(days=ago)).date() for ago in (0, 6)]
    )
    for ago in (0, 6):
        connection.execute(
            """INSERT INTO pause (start, stop, cluster_id, group_id, worker_id, cause, level, nbytes, ratio,
                   key_rest, note, detail)
               VALUES (%(time)s, %(time)s, 77, 1, NULL, 0, 0, 0, 0, '', '', '{}')""",
            {"time": today - timedelta(days=ago)},
        )
    apply_retention({}, 30, today)
    assert connection.execute("SELECT count(*) FROM pause").fetchone() == (1,)


def test_a_kind_in_a_new_file_is_documented(pause: str) -> None:
    page = load_script("make_wire_format").page()
    assert "\n## pause\nA pause of a task. *Dropped " in page
    assert "- `nbytes` (real, B): memory that was freed" in page
