"""Cutting runs and writing notes on the timeline, and the list of runs, as a real browser does it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from observatory.runs.models import Note, Permalink, Run
from observatory.runs.refresh import refresh_figures
from observatory.runs.sharing.links import make_link
from tests.support.projects import HOSTILE, World, make_run
from tests.support.recorded_cluster import START, Recorded, at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ADDRESS = "tcp://10.0.0.1:4000"
READY = "() => document.documentElement.dataset.ready === '1'"


@pytest.fixture
def world(world: World) -> World:
    """The world without its run."""
    world.run.delete()
    return world


@pytest.fixture
def timeline(page: Page, recorded: Recorded) -> Page:
    """The timeline of a cluster of 60 s, its window from 10 to 20 s, its playhead at 15 s."""
    recorded.worker(ADDRESS, "a", started=0)
    for second in range(0, 60, 2):
        recorded.span(f"load-{second}", ADDRESS, second, second + 1.5)
    page.goto(f"/clusters/{recorded.cluster}/?from={START + 10}&to={START + 20}&at={START + 15}")
    page.wait_for_function(READY)
    return page


def test_a_run_is_cut_by_hand_with_the_keyboard_alone(
    timeline: Page, world: World, complaints: list[str]
) -> None:
    timeline.keyboard.press("r")
    dialog = timeline.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_contain_text("(10.0 s) as a run")
    expect(dialog.get_by_label("Name")).to_be_focused()
    assert dialog.get_by_label("Name").input_value().startswith("evening 2026-05-28")
    timeline.keyboard.type(HOSTILE)
    timeline.keyboard.press("Tab")
    timeline.keyboard.type(f"git = 3f2a1c\nwhy = {HOSTILE}")
    timeline.keyboard.press("Tab")
    timeline.keyboard.press("Enter")
    expect(dialog.get_by_role("link", name=f"Open {HOSTILE}")).to_be_focused()
    run = Run.objects.get()
    assert (run.name, run.origin, run.created_by) == (HOSTILE, Run.Origin.CUT, world.people["superuser"])
    assert (run.start, run.stop) == (at(10), at(20))
    assert run.tags == {"git": "3f2a1c", "why": HOSTILE}
    assert run.tasks == 5
    timeline.keyboard.press("Enter")
    timeline.wait_for_url(f"**/runs/{run.pk}/**")
    timeline.wait_for_function(READY)
    assert complaints == []


def test_a_window_that_reaches_beyond_what_was_recorded_is_cut_to_it(timeline: Page, world: World) -> None:
    timeline.keyboard.press("f")
    timeline.get_by_role("button", name="Save as run").click()
    timeline.get_by_role("button", name="Save", exact=True).click()
    timeline.get_by_role("link", name="Open evening").wait_for()
    run = Run.objects.get()
    assert run.start == at(0)


def test_what_is_refused_is_told_at_its_field_and_nothing_is_lost(timeline: Page) -> None:
    timeline.keyboard.press("r")
    timeline.get_by_label("Name", exact=True).fill("peak")
    timeline.get_by_label("Tags").fill("= 3f2a1c")
    timeline.get_by_role("button", name="Save", exact=True).click()
    expect(timeline.get_by_role("alert").filter(has_text="needs a name before the")).to_be_visible()
    expect(timeline.get_by_label("Tags")).to_be_focused()
    expect(timeline.get_by_label("Tags")).to_have_value("= 3f2a1c")
    timeline.get_by_label("Tags").fill("git = 3f2a1c")
    timeline.get_by_role("button", name="Save", exact=True).click()
    timeline.get_by_role("link", name="Open peak").wait_for()
    assert Run.objects.get().tags == {"git": "3f2a1c"}


def test_a_note_with_hostile_text_is_written_found_and_changed(
    timeline: Page, world: World, complaints: list[str]
) -> None:
    timeline.keyboard.press("m")
    expect(timeline.get_by_label("Note", exact=True)).to_be_focused()
    timeline.keyboard.type(HOSTILE)
    timeline.get_by_role("button", name="Save", exact=True).press("Enter")
    notes = timeline.get_by_role("region", name="Notes")
    expect(notes.get_by_text(HOSTILE)).to_be_visible()
    expect(notes.get_by_text("superuser")).to_be_visible()
    note = Note.objects.get()
    assert (note.text, note.time, note.stop) == (HOSTILE, at(15), None)
    # on the events' track, in the middle of the window
    track = timeline.locator("[data-chart=events] canvas")
    box = track.bounding_box()
    assert box is not None
    timeline.mouse.move(box["x"] + 120 + (box["width"] - 132) / 2, box["y"] + 10)
    expect(timeline.locator(".tooltip:visible")).to_contain_text(f"superuser: {HOSTILE}")
    # with the keys, like events
    timeline.keyboard.press("End")
    timeline.keyboard.press("p")
    assert timeline.evaluate("observatory.context.timeline.playhead") == pytest.approx(START + 15)
    notes.get_by_role("button", name="change").click()
    timeline.get_by_label("Note", exact=True).fill("seen by all")
    timeline.get_by_role("button", name="Save", exact=True).click()
    expect(notes.get_by_text("edited")).to_be_visible()
    notes.get_by_role("button", name="change").click()
    timeline.get_by_role("button", name="Delete").click()
    expect(notes).to_be_hidden()
    assert not Note.objects.exists()
    assert timeline.locator('img[src="x"]').count() == 0
    assert complaints == []


def test_a_note_is_written_for_the_whole_window(timeline: Page) -> None:
    timeline.get_by_role("button", name="Note", exact=True).click()
    timeline.get_by_label("Note", exact=True).fill("slow")
    timeline.get_by_label("Where").select_option("window")
    timeline.get_by_role("button", name="Save", exact=True).click()
    timeline.get_by_role("region", name="Notes").get_by_text("slow").wait_for()
    note = Note.objects.get()
    assert (note.time, note.stop) == (at(10), at(20))


def test_what_others_write_appears_by_itself(timeline: Page, recorded: Recorded, world: World) -> None:
    Note.objects.create(cluster=world.ended, time=at(12), text="look here", author=world.people["editor"])
    timeline.get_by_role("region", name="Notes").get_by_text("look here").wait_for()


def test_a_run_shows_the_notes_of_its_window_and_a_public_link_none(
    timeline: Page, world: World, complaints: list[str]
) -> None:
    author = world.people["editor"]
    Note.objects.create(cluster=world.ended, time=at(12), text="in it", author=author)
    Note.objects.create(cluster=world.ended, time=at(15), stop=at(40), text="begins in it", author=author)
    Note.objects.create(cluster=world.ended, time=at(30), text="after it", author=author)
    run = Run.objects.create(cluster=world.ended, name="peak", origin="cut", start=at(10), stop=at(20))
    timeline.goto(f"/runs/{run.pk}/")
    timeline.wait_for_function(READY)
    notes = timeline.get_by_role("region", name="Notes")
    notes.get_by_text("in it", exact=True).wait_for()
    assert notes.locator(".note-text").all_inner_texts() == ["in it", "begins in it"]
    link = make_link(Permalink(run=run, audience=Permalink.Audience.ANYONE), author)
    timeline.goto(f"/r/{link.token}")
    timeline.wait_for_function(READY)
    assert timeline.get_by_role("region", name="Notes").count() == 0
    assert timeline.evaluate("observatory.context.notes.list") == []
    assert timeline.get_by_role("button", name="Save as run").count() == 0
    assert "editor" not in timeline.locator("main").inner_text()
    assert complaints == []


def test_runs_are_ticked_all_at_once_and_deleted_after_asking(
    page: Page, world: World, complaints: list[str]
) -> None:
    for number in range(3):
        make_run(world.ended, f"{HOSTILE} {number}", number * 10, tags={HOSTILE: HOSTILE})
    page.goto("/runs/")
    page.get_by_label("Select all runs on this page").check()
    expect(page.get_by_text("3 selected:")).to_be_visible()
    page.get_by_label(f"Select {HOSTILE} 1").uncheck()
    expect(page.get_by_text("2 selected:")).to_be_visible()
    page.get_by_role("button", name="Delete …").click()
    assert page.locator(".going li").count() == 2
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("2 runs are deleted")).to_be_visible()
    assert Run.objects.get().name == f"{HOSTILE} 1"
    assert page.locator('img[src="x"]').count() == 0
    assert complaints == []


def test_the_card_of_a_run_fills_in_when_its_figures_are_counted(
    timeline: Page, world: World, complaints: list[str]
) -> None:
    run = Run.objects.create(cluster=world.ended, name="peak", origin="code", start=at(10), stop=at(20))
    timeline.goto(f"/runs/{run.pk}/")
    timeline.wait_for_function(READY)
    timeline.locator("#run-strip > summary").click()
    card = timeline.get_by_role("region", name="Summary of the run")
    expect(card.get_by_text("counting …").first).to_be_visible()
    refresh_figures(run)
    expect(card.get_by_role("row", name="load")).to_contain_text("7.50 s")
    expect(card.get_by_text("counting …")).to_have_count(0)
    assert complaints == []


def test_the_card_of_a_run_is_folded_on_all_tabs(timeline: Page, world: World) -> None:
    run = make_run(world.ended, "etl")
    timeline.goto(f"/runs/{run.pk}/?tab=tasks")
    timeline.wait_for_function(READY)
    card = timeline.get_by_role("region", name="Summary of the run")
    expect(card).to_be_hidden()
    timeline.locator("#run-strip > summary").click()
    expect(card).to_be_visible()


def test_two_runs_are_compared_with_the_keyboard_alone(
    page: Page, world: World, complaints: list[str]
) -> None:
    older, newer = (make_run(world.ended, "etl", at) for at in (0, 20))
    page.goto("/runs/")
    for run in (older, newer):
        page.locator(f"[data-run='{run.pk}'] input").focus()
        page.keyboard.press("Space")
    page.get_by_role("button", name="Compare two").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/compare/?a={newer.pk}&b={older.pk}")
    assert complaints == []


def test_the_pages_of_runs_fit_a_phone(page: Page, world: World) -> None:
    run = make_run(world.ended, "x" * 200, tags={"y" * 100: "z" * 100}, user="u" * 100)
    page.set_viewport_size({"width": 390, "height": 844})
    own = f"/runs/{run.pk}/"
    for path in ("/runs/", f"/clusters/{world.ended.pk}/runs/", own, f"{own}settings/", "/runs/?name=q"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
