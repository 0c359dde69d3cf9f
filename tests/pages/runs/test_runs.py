from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from observatory.pages.runs.forms import parse_duration
from observatory.runs.models import MOST_TAGS, Permalink, Run, SavedFilter
from observatory.runs.sharing.link_tokens import stored
from tests.support.projects import HOSTILE, World, make_run
from tests.support.stored_findings import finding, keep


@pytest.fixture
def world(world: World) -> World:
    """The world without its run."""
    world.run.delete()
    return world


def page(world: World, role: str, path: str) -> str:
    answer = world.client(role).get(path)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def names_in(shown: str) -> list[str]:
    return re.findall(r'<a href="/runs/\d+/">(.*?)</a>', shown)


def change(world: World, role: str, runs: list[Run], **sent: Any) -> str:
    """The page after what was done to ticked runs."""
    data = {"run": [run.pk for run in runs], "back": "/runs/?order=name", **sent}
    answer = world.client(role).post("/runs/change/", data, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_a_run_shows_what_it_was_when_how_long_and_who_ran_it(world: World) -> None:
    make_run(
        world.ended,
        "nightly",
        5,
        90,
        tasks=1_234_567,
        errors=8,
        outcome="erred",
        user="ada",
        tags={"git": "3f"},
    )
    [row] = re.findall(r"<tr data-run.*?</tr>", page(world, "viewer", "/runs/"), re.DOTALL)
    reported = ("nightly", "git=3f", "evening", "Alpha", "2026-05-06 12:05:00", "1 h 30 min")
    for shown in (*reported, "1,234,567", ">8<", "with errors", "found from activity", "ada"):
        assert shown in row


def test_a_run_whose_figures_are_not_counted_yet_has_none(world: World) -> None:
    run = make_run(world.ended, "nightly", counted=None)
    [row] = re.findall(r"<tr data-run.*?</tr>", page(world, "viewer", "/runs/"), re.DOTALL)
    assert row.count("counting …") == 2
    assert ">0<" not in row
    answer = world.client("viewer").get(f"/api/v1/runs/{run.pk}").json()
    assert (answer["tasks"], answer["errors"]) == (None, None)


def row_of(shown: str, run: Run) -> str:
    [row] = re.findall(rf'<tr data-run="{run.pk}".*?</tr>', shown, re.DOTALL)
    return str(row)


def test_a_row_has_the_runs_main_finding_in_words(world: World) -> None:
    found, quiet, large, new, running = (
        make_run(world.ended, name, minutes=None if name == "running" else 10)
        for name in ("found", "quiet", "large", "new", "running")
    )
    keep(found, finding("gil", 90, sentence=f"Tasks of {HOSTILE} hold the GIL."))
    keep(quiet)
    keep(large, state="too-large")
    shown = page(world, "viewer", "/runs/")
    assert HOSTILE not in shown
    row = row_of(shown, found)
    assert f'href="/runs/{found.pk}/?tab=why" title="Tasks of &lt;img' in row
    assert "tasks that hold the GIL</a>" in row
    assert "1 min 30 s of threads" in row
    assert "nothing stands out" in row_of(shown, quiet)
    assert "too large to look at" in row_of(shown, large)
    assert "not looked at yet" in row_of(shown, new)
    assert "not looked at yet" not in row_of(shown, running)
    assert names_in(page(world, "viewer", "/runs/?finding=gil")) == ["found"]
    assert names_in(page(world, "viewer", "/runs/?finding=none")) == ["quiet"]


def test_a_finding_that_this_version_does_not_know_is_shown_by_its_name(world: World) -> None:
    keep(make_run(world.ended), finding("of-the-future", 2))
    assert "of-the-future</a>" in page(world, "viewer", "/runs/")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["goes on", "report", "etl"]),
        ("?name=ETL", ["etl"]),
        ("?tag=git", ["report", "etl"]),
        ("?tag=git%3D3f2a1c", ["etl"]),
        ("?user=ada", ["etl"]),
        ("?outcome=running", ["goes on"]),
        ("?origin=code", ["report"]),
        ("?shortest=20+min&longest=1+h", ["etl"]),
        ("?since=2026-05-06T12:30&until=2026-05-06T13:00", ["report"]),
        ("?with_errors=on", ["report"]),
        ("?pinned=on", ["etl"]),
        ("?order=name", ["etl", "goes on", "report"]),
        ("?order=-errors", ["report", "goes on", "etl"]),
        ("?order=nonsense", ["goes on", "report", "etl"]),
        ("?project=alpha", ["goes on", "report", "etl"]),
    ],
)
def test_the_list_shows_what_is_asked_for(world: World, query: str, names: list[str]) -> None:
    make_run(world.ended, "etl", 0, 30, tags={"git": "3f2a1c"}, user="ada", pinned=True)
    make_run(world.ended, "report", 40, 5, tags={"git": "77"}, origin="code", errors=1)
    make_run(world.ended, "goes on", 60, None)
    assert names_in(page(world, "viewer", f"/runs/{query}")) == names


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("shortest=5+parsecs", "“5 parsecs” is not a duration"),
        ("tag=%3Dx", "needs a name"),
        ("since=yesterday", "Enter a date and time"),
        ("outcome=splendid", "not one of the available choices"),
    ],
)
def test_what_makes_no_sense_is_told_at_its_field_and_the_rest_still_filters(
    world: World, query: str, reason: str
) -> None:
    make_run(world.ended, "etl")
    make_run(world.ended, "report")
    shown = page(world, "viewer", f"/runs/?name=etl&{query}")
    assert reason in shown
    assert names_in(shown) == ["etl"]
    value = query.split("=")[1].replace("+", " ").replace("%3D", "=")
    assert f'value="{value}"' in shown or "outcome" in query, "it isn't lost"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("5 min", 300), ("1.5h", 5400), ("1 h 30 min", 5400), ("2 D", 172_800), ("300 ms", 0.3)],
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


def test_headings_say_how_the_list_is_sorted_and_turn_it_round(world: World) -> None:
    make_run(world.ended)
    shown = page(world, "viewer", "/runs/?name=run&order=-tasks&page=1")
    assert shown.count("aria-sort") == 1
    heading = re.search(r'<th aria-sort="descending"[^>]*><a href="(.*?)">Tasks', shown)
    assert heading
    assert heading[1] == "?name=run&amp;order=tasks"
    assert 'href="?name=run&amp;order=name"' in shown
    assert 'href="?name=run&amp;order=-start"' in shown


def test_runs_come_in_pages_that_keep_the_filter(world: World) -> None:
    for number in range(53):
        make_run(world.ended, "many", number)
    first = page(world, "viewer", "/runs/?name=many")
    assert len(names_in(first)) == 50
    assert "1–50 of 53" in first
    [link] = re.findall(r'rel="next" href="([^"]*)"', first)
    assert len(names_in(page(world, "viewer", "/runs/" + link.replace("&amp;", "&")))) == 3


def test_a_page_asks_the_database_no_more_often_for_more_runs(world: World) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as asked:
            page(world, "editor", "/runs/")
        return len(asked)

    make_run(world.ended)
    queries()
    few = queries()
    for number in range(40):
        keep(make_run(world.ended, at=number), finding("gil", 2))
    assert queries() == few


def test_an_empty_list_says_how_runs_come_to_be_and_one_that_is_filtered_leads_back(world: World) -> None:
    shown = page(world, "viewer", "/runs/")
    for words in ("No runs yet", "by hand", "observatory.run(", 'href="/clusters/"'):
        assert words in shown
    shown = page(world, "viewer", "/runs/?name=zzz")
    assert "No run matches" in shown
    assert "Show all runs" in shown
    assert f'href="/clusters/{world.live.pk}/"' in page(world, "viewer", f"/clusters/{world.live.pk}/runs/")


def test_a_clusters_page_of_runs_shows_its_own(world: World) -> None:
    make_run(world.ended, "mine")
    make_run(world.live, "not mine")
    shown = page(world, "viewer", f"/clusters/{world.ended.pk}/runs/")
    assert names_in(shown) == ["mine"]
    assert f'<a href="/clusters/{world.ended.pk}/runs/" aria-current="page">Runs</a>' in shown


def test_who_may_not_change_runs_is_offered_to_compare_them_alone(world: World) -> None:
    run = make_run(world.ended)
    assert page(world, "editor", "/runs/").count('name="action"') == 6
    shown = page(world, "viewer", "/runs/")
    assert re.findall('name="action" value="(.*?)"', shown) == ["compare"]
    assert "data-read-only" in shown
    assert f"/runs/{run.pk}/settings/" not in shown
    for path in ("/runs/change/", "/runs/delete/"):
        sent = {"run": run.pk, "action": "pin"}
        assert world.client("viewer").post(path, sent).status_code == 403
    run.refresh_from_db()
    assert not run.pinned


def test_only_who_may_change_runs_is_offered_to_cut_one(world: World) -> None:
    path = f"/clusters/{world.ended.pk}/"
    assert "data-may-write" in page(world, "editor", path)
    assert "data-may-write" not in page(world, "viewer", path)


def test_ticked_runs_are_tagged_and_pinned_together(world: World) -> None:
    runs = [make_run(world.ended, str(number), tags={"env": "prod"}) for number in range(3)]
    assert "2 runs are changed" in change(world, "editor", runs[:2], action="tag", tag="git = 3f2a1c")
    assert "2 runs are pinned" in change(world, "editor", runs[1:], action="pin")
    both = {"env": "prod", "git": "3f2a1c"}
    assert [run.tags for run in Run.objects.order_by("pk")] == [both, both, {"env": "prod"}]
    assert [run.pinned for run in Run.objects.order_by("pk")] == [False, True, True]
    change(world, "editor", runs, action="untag", tag="env")
    assert "One run is unpinned" in change(world, "editor", runs[:2], action="unpin")
    assert [run.tags for run in Run.objects.order_by("pk")] == [{"git": "3f2a1c"}] * 2 + [{}]


def test_of_two_ticked_runs_the_newer_is_compared_with_the_older(world: World) -> None:
    older, newer, third = (make_run(world.ended, at=at) for at in (0, 20, 40))
    elsewhere = make_run(world.elsewhere)

    def compare(*runs: Run) -> Any:
        sent = {"action": "compare", "run": [run.pk for run in runs], "back": "/runs/?order=name"}
        return world.client("viewer").post("/runs/change/", sent)

    for runs in ((older, newer), (newer, older)):
        assert compare(*runs).headers["Location"] == f"/runs/compare/?a={newer.pk}&b={older.pk}"
    for runs, words in (
        ((), "None is selected"),
        ((older,), "One is selected"),
        ((older, newer, third), "3 are selected"),
        ((older, elsewhere), "One is selected"),
    ):
        assert compare(*runs).headers["Location"] == "/runs/?order=name"
        assert f"Select two runs to compare them. {words}" in page(world, "viewer", "/runs/")


def test_a_run_shows_the_durations_before_it_and_whether_its_own_is_usual(world: World) -> None:
    for number, minutes in enumerate((10, 10.1, 9.9, 10, 15, 6)):
        make_run(world.ended, "etl", number * 20, minutes)
    make_run(world.ended, "lost", 0, 10, outcome="lost")
    make_run(world.ended, "other", 0, 10)
    rows = re.findall(r"<tr data-run.*?</tr>", page(world, "viewer", "/runs/?name=etl"), re.DOTALL)
    verdicts = [re.findall("run-verdict[^>]*>(.*?)<", row) for row in rows]
    assert verdicts == [["40 % faster"], ["50 % slower"], ["as usual"], [], [], []]
    assert "Durations of the last 6 runs: 6 min to 15 min, the last one 6 min" in rows[0]
    assert [row.count("<polyline") for row in rows] == [1, 1, 1, 1, 1, 0]
    for name in ("lost", "other"):
        [row] = re.findall(r"<tr data-run.*?</tr>", page(world, "viewer", f"/runs/?name={name}"), re.DOTALL)
        assert "<polyline" not in row


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({"action": "tag", "tag": ""}, "needs a name"),
        ({"action": "tag", "tag": "one = more"}, "at most 50 tags"),
        ({"action": "dance"}, "Choose an action"),
        ({"action": "pin", "run": []}, "Select some runs first"),
    ],
)
def test_what_cannot_be_done_to_ticked_runs_is_told_and_changes_none(
    world: World, sent: dict[str, Any], reason: str
) -> None:
    full = make_run(world.ended, tags={str(number): "" for number in range(MOST_TAGS)})
    other = make_run(world.ended)
    assert reason in change(world, "editor", [other, full], **sent)
    other.refresh_from_db()
    assert (other.tags, other.pinned) == ({}, False)


def test_deleting_runs_asks_first_and_says_what_goes(world: World) -> None:
    linked, other = make_run(world.ended, "linked", pinned=True), make_run(world.ended, "other")
    Permalink.objects.create(run=linked, **stored("t"))
    asked = change(world, "editor", [linked, other], action="delete")
    for words in ("Delete these 2 runs?", "linked", "pinned", "1 link to it", "records stay"):
        assert words in asked
    assert Run.objects.count() == 2
    sent = {"run": [linked.pk, other.pk], "back": "/runs/?order=name"}
    answer = world.client("editor").post("/runs/delete/", sent)
    assert answer.headers["Location"] == "/runs/?order=name"
    assert not Run.objects.exists()
    assert not Permalink.objects.exists()


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_nothing_leads_away_from_the_site(world: World, back: str) -> None:
    sent = {"run": make_run(world.ended).pk, "action": "pin", "back": back}
    assert world.client("editor").post("/runs/change/", sent).headers["Location"] == "/runs/"


def test_an_editor_changes_a_runs_name_tags_and_pin(world: World) -> None:
    run = make_run(world.ended, "old", tags={"git": "3f2a1c", "urgent": ""})
    path = f"/runs/{run.pk}/settings/"
    assert "git = 3f2a1c\nurgent" in page(world, "editor", path)
    sent = {"name": "new", "tags": "git = 77\r\nowner=ada", "pinned": "on"}
    assert world.client("editor").post(path, sent).status_code == 302
    run.refresh_from_db()
    assert (run.name, run.tags, run.pinned) == ("new", {"git": "77", "owner": "ada"}, True)
    refused = world.client("editor").post(path, {"name": "", "tags": "= what was typed"})
    assert refused.status_code == 422
    assert "needs a name before the" in refused.content.decode()
    assert "= what was typed" in refused.content.decode()
    assert world.client("editor").post(path, {"name": "new", "tags": ""}).status_code == 302
    run.refresh_from_db()
    assert (run.tags, run.pinned) == ({}, False)


def test_a_saved_filter_is_found_again_replaced_and_removed(world: World) -> None:
    client = world.client("viewer")
    client.post("/runs/filters/", {"name": "mine", "query": "name=etl&order=-errors"})
    assert 'href="/runs/?name=etl&amp;order=-errors"' in page(world, "viewer", "/runs/")
    client.post("/runs/filters/", {"name": "mine", "query": "with_errors=on"})
    [saved] = SavedFilter.objects.all()
    assert saved.query == "with_errors=on"
    assert ">mine<" not in page(world, "editor", "/runs/"), "nobody else sees it"
    assert world.client("editor").post(f"/runs/filters/{saved.pk}/remove/").status_code == 404
    client.post(f"/runs/filters/{saved.pk}/remove/")
    assert not SavedFilter.objects.exists()


def test_somebody_saves_so_many_filters_and_no_more(world: World) -> None:
    for number in range(52):
        answer = world.client("viewer").post(
            "/runs/filters/", {"name": str(number), "query": ""}, follow=True
        )
    assert SavedFilter.objects.count() == 50
    assert "Remove one first" in answer.content.decode()
    answer = world.client("viewer").post("/runs/filters/", {"name": "", "query": "name=x"})
    assert answer.headers["Location"] == "/runs/?name=x"


def test_hostile_names_and_tags_are_escaped(world: World) -> None:
    run = make_run(world.ended, HOSTILE, tags={HOSTILE: HOSTILE}, user=HOSTILE)
    SavedFilter.objects.create(user=world.people["superuser"], name=HOSTILE, query=f'"{HOSTILE}')
    for path in (
        "/runs/",
        f"/runs/?name={HOSTILE}zzz",
        f"/runs/?tag=={HOSTILE}",
        f"/runs/{run.pk}/settings/",
    ):
        shown = page(world, "superuser", path)
        assert "<img src=x" not in shown, path
        assert "&lt;img src=x" in shown, path
    assert "<img src=x" not in change(world, "superuser", [run], action="delete")
    assert "<img src=x" not in change(world, "superuser", [run], action="tag", tag=f"={HOSTILE}")
