"""Pages of Dask's performance_report become runs, whatever versions of Dask and Bokeh wrote them.

`reports/` has pages of real clusters, made by the versions in their names, and beside each what its
scheduler's task stream had. The versions of Bokeh are 2.3, 2.4, 2.4, 3.2, 3.5 and 3.7.
"""

from __future__ import annotations

import gzip
import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from distributed import Client, LocalCluster, get_task_stream, performance_report

from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.runs.models import Run
from observatory.wire.records import Action, Status
from tests.exchange.files import KEY
from tests.exchange.hostile import nothing, refused
from tests.support.projects import World

__all__ = ["refused"]
REPORTS = sorted(Path(__file__).with_name("reports").glob("*.html.gz"))
VERSIONS = [path.name.removesuffix(".html.gz") for path in REPORTS]
EMBEDDED = re.compile(r'(<script type="application/json"[^>]*>)(.*?)(</script>)', re.DOTALL)
Span = tuple[str, str, int, str, str, int, int]
"""key, worker, thread, action, status, start and stop in ms"""


def imported(path: Path, world: World) -> tuple[Run, str]:
    """The run, and what was reported."""
    reports: list[str] = []
    run = import_file(path, Destination(world.alpha), nothing, reports.append)
    return run, " ".join(reports)


def told(tasks: list[Any]) -> list[Span]:
    """The spans of a task stream: [key, worker, thread, status, [[action, start, stop], …]] of each task."""
    return sorted(
        (key, worker, thread, action, status, round(start * 1000), round(stop * 1000))
        for key, worker, thread, status, parts in tasks
        for action, start, stop in parts
    )


def stored(connection: psycopg.Connection, run: Run) -> list[Span]:
    rows = connection.execute(
        f"""SELECT {KEY}, worker.address, lane.thread, action, span.status,
                   extract(epoch FROM start) * 1000, extract(epoch FROM stop) * 1000
            FROM span JOIN lane ON lane.id = lane_id JOIN worker ON worker.id = lane.worker_id
            JOIN task_group ON task_group.id = group_id WHERE span.cluster_id = %s""".encode(),
        [run.cluster_id],
    )
    return sorted(
        (
            key,
            worker,
            thread,
            Action(action).label,
            ("OK", "error")[status == Status.ERROR],
            round(start),
            round(stop),
        )
        for key, worker, thread, action, status, start, stop in rows
    )


def near(found: list[Span], expected: list[Span]) -> bool:
    """Whether the spans are the same; times differ by rounding."""
    return [span[:5] for span in found] == [span[:5] for span in expected] and all(
        abs(one - other) <= 1
        for span, other_span in zip(found, expected, strict=True)
        for one, other in zip(span[5:], other_span[5:], strict=True)
    )


@pytest.mark.parametrize("path", REPORTS, ids=VERSIONS)
def test_a_report_has_the_spans_of_its_schedulers_task_stream(
    path: Path, connection: psycopg.Connection, world: World
) -> None:
    run, reported = imported(path, world)
    tasks = json.loads(gzip.decompress(path.with_name(path.name.replace(".html", ".json")).read_bytes()))[
        "tasks"
    ]
    begins = run.start.timestamp() - 1
    within = [task for task in tasks if min(start for _, start, _ in task[4]) > begins]
    assert len(within) > 40
    assert near(stored(connection, run), told(within))
    assert "doesn't tell which task needs which" in reported
    assert "left out" not in reported


@pytest.mark.parametrize("path", REPORTS, ids=VERSIONS)
def test_a_report_is_a_run_of_its_cluster_with_its_code_workers_and_versions(
    path: Path, world: World
) -> None:
    run, _ = imported(path, world)
    assert (run.origin, run.outcome, run.pinned) == ("imported", "erred", True)
    assert run.name.startswith("Performance report of 2026-11-28 ")
    assert run.cluster.address.startswith("tcp://127.0.0.1:")
    assert not run.cluster.is_live
    assert ("broken-<img src=x onerror=alert(1)>&amp;" in run.code) == (
        VERSIONS[REPORTS.index(path)] != "2022.2.0"
    )
    assert "Code not available" not in run.code
    page = gzip.decompress(path.read_bytes()).decode()
    duration = re.search(r"Duration: ([\d.]+) s", page)
    assert duration
    assert run.stop is not None
    assert (
        abs((run.stop - run.start).total_seconds() - float(duration[1])) < 0.7
    )  # its scheduler samples each 0.5 s
    client = world.client("viewer")
    details = client.get(f"/api/v1/clusters/{run.cluster_id}/lanes").json()
    assert [worker["nthreads"] for worker in details["workers"]] == [2, 2]
    assert {round(worker["memory_limit"] / 2**30, 2) for worker in details["workers"]} == {23.54 / 2}
    environment = client.get(f"/api/v1/clusters/{run.cluster_id}/environment").content.decode()
    version = re.search(r"Dask.Distributed Version: ([\d.]+)", page)
    assert version
    assert f'"{version[1]}"' in environment
    for page in (f"/runs/{run.pk}/", f"/clusters/{run.cluster_id}/errors/"):
        answer = client.get(page)
        assert answer.status_code == 200
        assert b"<img src=x" not in answer.content


@pytest.mark.parametrize("path", REPORTS, ids=VERSIONS)
def test_a_report_has_the_profile_of_its_tasks_and_the_scheduler_over_time(
    path: Path, connection: psycopg.Connection, world: World
) -> None:
    run, _ = imported(path, world)
    rows = connection.execute(
        """SELECT frames, sum(count) FROM profile JOIN stack ON stack.id = stack_id
           WHERE profile.cluster_id = %s AND source = 0 GROUP BY frames""",
        [run.cluster_id],
    ).fetchall()
    total = int(sum(count for _, count in rows))
    page = gzip.decompress(path.read_bytes()).decode()
    assert 50 < total < 250  # eight tasks of 0.25 s, of which Dask samples each 10 ms what it sees
    # a sample of a thread that had just ended has no frames
    assert any(
        f'"{seconds / 100:.2f} s"' in page or f'"{seconds * 10:.2f} ms"' in page
        for seconds in (total, total + 1)
    )
    in_slow = sum(count for frames, count in rows if "\nslow\t" in f"\n{frames}")
    assert in_slow > 0.9 * total
    (samples,) = connection.execute(
        "SELECT count(*) FROM sample JOIN series ON series.id = series_id WHERE sample.cluster_id = %s",
        [run.cluster_id],
    ).fetchone() or (0,)
    assert (samples >= 6) == ('"title":"System"' in page)  # since 2021.5


def test_a_report_of_the_installed_dask_and_a_saved_task_stream_are_imported(
    tmp_path: Path, connection: psycopg.Connection, world: World
) -> None:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        performance_report(filename=str(tmp_path / "report.html"), mode="inline"),
        get_task_stream(plot="save", filename=str(tmp_path / "stream.html")) as stream,
    ):
        client.gather(client.map(abs, range(12), key="transfer-learning"))
        client.submit(abs, 1, key=("transfer-red", 1)).result()
    expected = told(
        [
            [
                str(task["key"]),
                task["worker"],
                task["thread"],
                task["status"],
                [[part["action"], part["start"], part["stop"]] for part in task["startstops"]],
            ]
            for task in stream.data
        ]
    )
    assert len(expected) >= 13
    run, _ = imported(tmp_path / "report.html", world)
    assert near(stored(connection, run), expected)
    run, _ = imported(tmp_path / "stream.html", world)
    assert run.name.startswith("Task stream of ")
    assert near(stored(connection, run), expected)


def document(change: Callable[[Any], object]) -> bytes:
    """The page of the newest version, whose document was changed."""
    page = gzip.decompress(REPORTS[-1].read_bytes()).decode()
    found = EMBEDDED.search(page)
    assert found
    content = json.loads(html.unescape(found[2]))
    change(next(iter(content.values())))
    text = html.escape(json.dumps(content), quote=False)
    return (page[: found.start(2)] + text + page[found.end(2) :]).encode()


def columns_of_spans(content: Any) -> dict[str, Any]:
    """The entries of the task stream's table."""
    left = [content["roots"]]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            entries = value.get("entries", [])
            if value.get("type") == "map" and any(entry[0] == "worker_thread" for entry in entries):
                return value
            left += value.values()
        elif isinstance(value, list):
            left += value
    raise AssertionError("no task stream")


def set_column(name: str, value: Any) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for entry in columns_of_spans(content)["entries"]:
            if entry[0] == name:
                entry[1] = value(entry[1]) if callable(value) else value

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda content: content.pop("roots"), "no task stream of Dask"),
        (lambda content: content.update(roots=[[[]]]), "no task stream of Dask"),
        (set_column("start", lambda column: column[:-1]), "no task stream of Dask"),
        (
            set_column(
                "start", {"type": "ndarray", "array": {"type": "bytes", "data": "!"}, "dtype": "float64"}
            ),
            "no task",
        ),
        (
            set_column("start", {"type": "ndarray", "array": "AAAA", "dtype": "object", "order": "little"}),
            "no task",
        ),
        (set_column("start", lambda column: [1e400] * len(column)), "Entry 1 of the task stream"),
        (set_column("start", lambda column: [{"type": "number", "value": []}] * len(column)), "Entry 1"),
        (set_column("duration", lambda column: [-1] * len(column)), "Entry 1 of the task stream"),
        (set_column("worker", lambda column: [{}] * len(column)), "Entry 1 of the task stream"),
        (set_column("key", lambda column: [None] * len(column)), "Entry 1 of the task stream"),
    ],
)
def test_a_page_whose_document_is_broken_is_refused_with_the_reason(
    refused: Callable[[bytes], str], change: Callable[[Any], object], reason: str
) -> None:
    assert reason in refused(document(change))


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (b"<!DOCTYPE html><html><title>A run</title></html>", "without a document of Bokeh"),
        (b"\xef\xbb\xbf\n<HTML></HTML>", "without a document of Bokeh"),
        (b'<!doctype html><script type="application/json" id="1">{"a": </script>', "can't be read as JSON"),
        (b'<!doctype html><script type="application/json" id="1">\xff</script>', "can't be read as JSON"),
        (b'<!doctype html><script type="application/json" id="1">[]</script>', "no task stream of Dask"),
        (
            b'<!doctype html><script type="application/json">' + b"[" * 100_000 + b"</script>",
            "can't be read as JSON",
        ),
        (
            gzip.compress(
                b'<!doctype html><script type="application/json">' + b"[]," * 900_000 + b"</script>"
            ),
            "lists than",
        ),
    ],
)
def test_another_page_is_refused_with_what_can_be_imported(
    refused: Callable[[bytes], str], page: bytes, reason: str
) -> None:
    assert reason in refused(page)


def test_lines_of_the_schedulers_log_have_the_times_of_the_report_in_any_time_zone(
    tmp_path: Path, connection: psycopg.Connection, world: World
) -> None:
    """Lines have local times of a day without a zone, here of 05:45 before UTC and over midnight."""
    run, _ = imported(REPORTS[-1], world)
    start = run.start.timestamp()

    def line(after: float, text: str) -> str:
        seconds = (start + after - 20_700) % 86_400
        hours, rest = divmod(seconds, 3600)
        return (
            f"<p>{hours:02.0f}:{rest // 60:02.0f}:{rest % 60:09.6f} - distributed.core - WARNING - {text}</p>"
        )

    def change(content: Any) -> None:
        for panel in content["roots"][0]["attributes"]["tabs"]:
            if panel["attributes"]["title"] == "Scheduler Logs":
                panel["attributes"]["child"]["attributes"]["text"] = line(0.5, "first &lt;b&gt;") + line(
                    1.5, "then"
                )

    path = tmp_path / "report.html"
    path.write_bytes(document(change))
    run, _ = imported(path, world)
    rows = connection.execute(
        """SELECT extract(epoch FROM time), level, logger, message FROM log
           WHERE cluster_id = %s ORDER BY time""",
        [run.cluster_id],
    ).fetchall()
    assert [(round(float(at) - start, 2), *rest) for at, *rest in rows] == [
        (0.5, 30, "distributed.core", "first <b>"),
        (1.5, 30, "distributed.core", "then"),
    ]
