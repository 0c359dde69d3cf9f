"""Tables as CSV: what the filters find, bounded, and with nothing in it that a spreadsheet would run."""

from __future__ import annotations

import csv
import io

import pytest
from django.http import HttpResponse
from django.test import Client

from observatory.pages.site import csv as pages_csv
from observatory.pages.site.csv import csv_response
from tests.support.projects import World
from tests.support.recorded_cluster import Recorded
from tests.support.stored_findings import finding, keep

pytestmark = pytest.mark.django_db


def rows_of(answer: HttpResponse) -> list[dict[str, str]]:
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith("attachment; filename=")
    return list(csv.DictReader(io.StringIO(answer.content.decode(), newline="")))


def get(client: Client, path: str) -> list[dict[str, str]]:
    return rows_of(client.get(path))


def test_errors_are_those_that_the_filters_find(recorded: Recorded, world: World) -> None:
    recorded.error(1, "load-1", "ValueError", "=HYPERLINK(1)")
    recorded.error(2, "load-2", "KeyError", "two\nlines, and a comma")
    path = f"/clusters/{world.ended.pk}/errors/?format=csv"
    viewer = world.client("viewer")
    assert [row["key"] for row in get(viewer, path)] == ["load-2", "load-1"]
    assert [row["message"] for row in get(viewer, path)] == ["two\nlines, and a comma", "'=HYPERLINK(1)"]
    assert [row["exception"] for row in get(viewer, f"{path}&type=KeyError")] == ["KeyError"]
    assert world.client("outsider").get(path).status_code == 404


def test_logs_are_those_that_the_filters_find(recorded: Recorded, world: World) -> None:
    recorded.log(1, "first", 20)
    recorded.log(2, "@second", 40)
    path = f"/clusters/{world.ended.pk}/logs/?format=csv"
    rows = get(world.client("viewer"), path)
    assert [(row["level"], row["message"]) for row in rows] == [("Error", "'@second"), ("Info", "first")]
    assert rows[0]["time"].endswith("+00:00")
    assert len(get(world.client("viewer"), f"{path}&level=40")) == 1


def test_clusters_are_those_that_one_may_see(world: World) -> None:
    names = {row["name"] for row in get(world.client("viewer"), "/clusters/?format=csv")}
    assert names == {"morning", "evening"}
    assert get(world.client("nobody"), "/clusters/?format=csv") == []
    [row] = get(world.client("viewer"), "/clusters/?format=csv&state=live")
    assert row["name"] == "morning"


def test_runs_are_those_that_one_may_see(world: World) -> None:
    run = world.ended.runs.create(
        name="+etl", origin="cut", start=world.ended.started, stop=world.ended.ended, tags={"git": "3f2"}
    )
    [row] = get(world.client("viewer"), "/runs/?format=csv&name=etl")
    assert (row["id"], row["name"], row["tags"]) == (str(run.pk), "'+etl", "git=3f2")
    assert float(row["seconds"]) == 7200
    assert (row["finding"], row["main finding"]) == ("unknown", "")
    keep(run, finding("gil", 30, sentence="=1"))
    [row] = get(world.client("viewer"), "/runs/?format=csv&name=etl")
    assert (row["finding"], row["main finding"]) == ("gil", "'=1")
    assert float(row["thread-seconds that it costs"]) == 30
    assert get(world.client("outsider"), "/runs/?format=csv&name=etl") == []


def test_a_file_that_does_not_hold_all_rows_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_csv, "MOST_ROWS", 3)
    content = csv_response("x", ["number"], ([number] for number in range(4))).content.decode()
    assert content.splitlines()[1:4] == ["0", "1", "2"]
    assert "Only the first 3 rows" in content.splitlines()[4]
    assert "more" not in csv_response("x", ["number"], [[1], [-2], [3]]).content.decode()


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠x"])
def test_no_text_begins_as_a_formula_does(text: str) -> None:
    [row] = csv.reader(io.StringIO(csv_response("x", [text, "a-b"], []).content.decode(), newline=""))
    assert row == [f"'{text}", "a-b"]


def test_numbers_stay_numbers() -> None:
    assert csv_response("x", ["n"], [[-1.5]]).content == b"n\r\n-1.5\r\n"
