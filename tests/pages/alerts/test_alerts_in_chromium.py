"""Alerts on the timeline, in its header and in the header of every page, as a real browser shows them."""

from __future__ import annotations

import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from observatory.alerts.models import Alert, Rule
from observatory.clusters.models import Cluster
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.links import make_link
from observatory.store.times import from_seconds
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import START, Recorded, at
from tests.support.stored_alerts import make_alert

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ADDRESS = "tcp://10.0.0.1:4000"
READY = "() => document.documentElement.dataset.ready === '1'"
SEEN = 30_000
"""ms; pages ask every 5 s"""
TRACK = "[data-chart=alerts] canvas"
INK = """([selector, from, to]) => {
  const canvas = document.querySelector(selector);
  const { start, stop, width } = observatory.view;
  const left = canvas.clientWidth - 12 - width, ratio = canvas.width / canvas.clientWidth;
  const x = (time) => Math.round((left + ((time - start) / (stop - start)) * width) * ratio);
  const rows = canvas.getContext("2d").getImageData(x(from), 0, Math.max(x(to) - x(from), 1), canvas.height);
  const colors = new Set();
  for (let i = 0; i < rows.data.length; i += 4) {
    if (rows.data[i + 3] > 60) colors.add([...rows.data.slice(i, i + 3)].join());
  }
  return [...colors];
}"""
"""the colours that a canvas has between two times"""
CRITICAL = "179,38,30"
"""--danger of the light theme"""


def alert_at(cluster: Cluster, rule: str, *times: float | None, **fields: Any) -> Alert:
    pending, fired, resolved = times
    assert pending is not None
    return make_alert(cluster, rule, pending, fired, resolved, at(0), **fields)


def band(page: Page, when: float) -> tuple[float, float]:
    """Where on the screen the first row of the track has an instant."""
    box = page.locator(TRACK).bounding_box()
    view = page.evaluate("({start: observatory.view.start, stop: observatory.view.stop})")
    assert box is not None
    plot = box["width"] - 132
    return box["x"] + 120 + (START + when - view["start"]) / (view["stop"] - view["start"]) * plot, box[
        "y"
    ] + 8


@pytest.fixture
def timeline(page: Page, recorded: Recorded, world: World) -> Page:
    """The replay of a cluster of 60 s at its 15th; memory was short from 20 to 40 s, noticed from 10 s on."""
    worker = recorded.worker(ADDRESS, "a", started=0)
    for second in range(0, 60, 2):
        recorded.span(f"load-{second}", ADDRESS, second, second + 1.5)
    labels = {"worker": HOSTILE}
    fields: dict[str, Any] = {
        "severity": "critical",
        "message": HOSTILE,
        "worker_id": worker,
        "labels": labels,
    }
    alert_at(world.ended, "memory pressure", 10, 20, 40, **fields)
    page.goto(f"/clusters/{recorded.cluster}/?from={START}&to={START + 60}&at={START + 15}")
    page.wait_for_function(READY)
    page.wait_for_function("() => observatory.context.alerts.list.length === 1")
    return page


def test_in_replay_an_alert_is_a_band_light_while_pending_and_dark_while_it_fires(timeline: Page) -> None:
    timeline.wait_for_function(
        f"() => ({INK})(['{TRACK}', {START + 21}, {START + 39}]).includes('{CRITICAL}')"
    )
    pending = timeline.evaluate(INK, [TRACK, START + 11, START + 19])
    assert CRITICAL not in pending
    after = timeline.evaluate(INK, [TRACK, START + 42, START + 59])
    assert CRITICAL not in after
    assert set(pending) - set(after), "the band, beside the line of the track"
    assert CRITICAL in timeline.evaluate(INK, [".overview canvas", START + 22, START + 38])
    # on to after its end: it is shown as it was
    timeline.keyboard.press("End")
    assert CRITICAL in timeline.evaluate(INK, [TRACK, START + 21, START + 39])


def test_a_band_has_a_tooltip_and_opens_a_card_that_links_to_the_alert(
    timeline: Page, complaints: list[str]
) -> None:
    timeline.mouse.move(*band(timeline, 30))
    tooltip = timeline.locator(".tooltip:visible")
    expect(tooltip).to_contain_text("critical: memory pressure")
    expect(tooltip).to_contain_text(HOSTILE)
    timeline.mouse.click(*band(timeline, 30))
    card = timeline.get_by_role("region", name="Alert: memory pressure")
    expect(card).to_contain_text("what to do about memory pressure", timeout=SEEN)
    expect(card).to_contain_text("(20.0 s)")
    assert timeline.evaluate("observatory.context.timeline.playhead") == pytest.approx(START + 20)
    assert timeline.evaluate("observatory.context.selection.worker") is not None
    timeline.keyboard.press("Escape")
    expect(card).to_be_hidden()
    assert timeline.locator('img[src="x"]').count() == 0
    assert complaints == []


def test_an_alert_is_opened_and_acknowledged_by_keyboard(timeline: Page, world: World) -> None:
    alert = Alert.objects.get()
    Alert.objects.update(state="firing", resolved=None)
    timeline.get_by_role("region", name="Alerts in the window").get_by_role(
        "button", name="memory pressure"
    ).press("Enter")
    timeline.get_by_role("region", name="Alert: memory pressure").get_by_role(
        "link", name="Open the alert"
    ).press("Enter")
    timeline.wait_for_url(f"**/alerts/{alert.pk}/")
    timeline.get_by_label("Note").fill("restarting it")
    timeline.get_by_role("button", name="Acknowledge").press("Enter")
    timeline.get_by_text("“memory pressure” is acknowledged.").wait_for()
    alert.refresh_from_db()
    assert (alert.acknowledged_by, alert.acknowledgement) == (world.people["superuser"], "restarting it")
    timeline.get_by_role("link", name="Show on the timeline").click()
    timeline.wait_for_function(READY)
    assert timeline.evaluate("observatory.context.timeline.playhead") == pytest.approx(START + 20)


def test_a_live_alert_appears_and_grows_until_it_is_resolved(page: Page, world: World) -> None:
    now = time.time()
    world.live.started = from_seconds(now - 120)
    world.live.last_seen = from_seconds(now)
    world.live.save()
    page.goto(f"/clusters/{world.live.pk}/?live=120")
    page.wait_for_function(READY)
    expect(page.get_by_role("status").filter(has_text="⚑")).to_contain_text("Alerts")
    expect(page.locator(TRACK)).to_be_hidden()
    alert = make_alert(world.live, "worker lost", 90, 90, severity="critical")
    expect(page.locator(TRACK)).to_be_visible(timeout=SEEN)
    shown = f"() => observatory.view && ({INK})(['{TRACK}', {now - 25}, {now - 5}]).includes('{CRITICAL}')"
    page.wait_for_function(shown, timeout=SEEN)
    expect(page.locator(".cluster-header .flag")).to_have_text("critical: worker lost", timeout=SEEN)
    expect(page.locator("#alert-flag")).to_contain_text("⚑ 1 alert", timeout=SEEN)
    grown = f"() => ({INK})(['{TRACK}', {now + 1}, {now + 2}]).includes('{CRITICAL}')"
    page.wait_for_function(grown, timeout=SEEN)
    alert.resolved = from_seconds(now - 20)
    alert.state = "resolved"
    alert.save()
    over = f"() => !({INK})(['{TRACK}', {now - 10}, {now}]).includes('{CRITICAL}')"
    page.wait_for_function(over, timeout=SEEN)
    expect(page.locator("#alert-flag a.calm")).to_be_visible(timeout=SEEN)


def test_a_public_link_shows_bands_with_name_and_times_only(
    timeline: Page, world: World, complaints: list[str]
) -> None:
    run = Run.objects.create(cluster=world.ended, name="peak", origin="cut", start=at(25), stop=at(35))
    link = make_link(Permalink(run=run, audience=Permalink.Audience.ANYONE), world.people["editor"])
    timeline.goto(f"/r/{link.token}")
    timeline.wait_for_function(READY)
    timeline.get_by_role("region", name="Alerts in the window").get_by_role("button").click()
    card = timeline.get_by_role("region", name="Alert: memory pressure")
    expect(card).to_contain_text("(10.0 s)")
    assert card.get_by_role("link").count() == 0
    for answer in (HOSTILE, "what to do"):
        expect(card).not_to_contain_text(answer)
    assert complaints == []


def test_the_list_refreshes_and_alerts_are_acknowledged_in_place(
    page: Page, world: World, complaints: list[str]
) -> None:
    Rule.objects.all().delete()
    page.goto("/alerts/")
    expect(page.get_by_text("No rules are enabled")).to_be_visible()
    alert = make_alert(world.live, HOSTILE, severity="critical", message=HOSTILE)
    expect(page.get_by_role("link", name=HOSTILE)).to_be_visible(timeout=SEEN)
    page.get_by_text("What to do", exact=True).click()
    expect(page.get_by_text(f"what to do about {HOSTILE}")).to_be_visible()
    page.get_by_label(f"Note on {HOSTILE}").fill("mine")
    page.get_by_role("button", name=f"Acknowledge {HOSTILE}").click()
    page.get_by_text("mine", exact=True).wait_for()
    alert.refresh_from_db()
    assert alert.acknowledged_by == world.people["superuser"]
    assert complaints == []
