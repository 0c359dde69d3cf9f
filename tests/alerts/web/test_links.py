from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Page

from observatory.alerts.models import Alert, Rule
from observatory.alerts.rules.scope import RuleScope
from observatory.alerts.web.links import alert_path, moment_path, new_rule_url
from observatory.clusters.addresses.public_urls import url_in_message
from tests.pages.conftest import complaints, context, page, recorded, world
from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded

__all__ = ["complaints", "context", "page", "recorded", "world"]

ADDRESS = "tcp://10.0.0.1:4000"
SEEN = """() => {
  const { start, stop, playhead, live } = window.observatory.context.timeline;
  return { start, stop, playhead, live };
}"""


def alert(world: World, pending: float, fired: float) -> Alert:
    """Of the cluster that ended; times are seconds after START."""
    start = datetime.fromtimestamp(START, UTC)
    return Alert.objects.create(
        rule=Rule.objects.create(name="Worker lost"),
        cluster=world.ended,
        severity="warning",
        fingerprint="f",
        state=Alert.State.FIRING,
        pending=start + timedelta(seconds=pending),
        fired=start + timedelta(seconds=fired),
    )


@pytest.mark.django_db
def test_links_of_messages_are_urls_or_left_out(world: World, settings: Any) -> None:
    path = f"/clusters/{world.ended.pk}/?from={START + 180:.3f}&to={START + 520.5:.3f}&at={START + 400.5:.3f}"
    notified = alert(world, 300, 400.5)
    assert moment_path(notified) == path
    settings.PUBLIC_URL = ""
    assert url_in_message(path) == ""
    settings.PUBLIC_URL = "https://observatory.example.org"
    assert url_in_message(path) == f"https://observatory.example.org{path}"
    assert alert_path(notified) == f"/alerts/{notified.pk}/"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["morning", "etl *", "a[1]?", "* or [!x]"])
def test_a_rule_for_a_cluster_is_offered_to_those_who_may_make_it(world: World, name: str) -> None:
    world.ended.name = name
    assert new_rule_url(world.people["viewer"], world.ended) == ""
    url = urlsplit(new_rule_url(world.people["superuser"], world.ended))
    assert url.path == "/admin/alerts/rule/add/"
    [(field, pattern)] = parse_qsl(url.query)
    assert field == "cluster_names"
    scope = RuleScope.over((), (), pattern)
    assert scope.includes(world.ended)
    assert not scope.includes(world.live) or name == world.live.name


@pytest.mark.browser
@pytest.mark.parametrize("fired", [350.25, 599.5], ids=["in the middle", "near the end"])
def test_a_link_opens_the_timeline_at_the_firing(
    page: Page,
    world: World,
    recorded: Recorded,
    live_server: Any,
    settings: Any,
    complaints: list[str],
    fired: float,
) -> None:
    settings.PUBLIC_URL = live_server.url
    recorded.worker(ADDRESS, "w1", started=0)
    for second in range(0, 600, 30):
        recorded.span(f"load-{second}", ADDRESS, second, second + 30)
    page.goto(url_in_message(moment_path(alert(world, fired - 60, fired))))
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    seen = page.evaluate(SEEN)
    assert seen["playhead"] == pytest.approx(START + fired)
    assert not seen["live"]
    assert seen["start"] == pytest.approx(START + fired - 180)
    assert seen["start"] < seen["playhead"] < seen["stop"]
    assert complaints == []
