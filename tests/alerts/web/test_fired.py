"""The alerts that fired in a run: on its card, on that of a link, and in notifications about it."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse

from observatory.alerts.models import Channel, Delivery, Rule
from observatory.alerts.notifying.alertmanager_format import annotations_of
from observatory.alerts.notifying.composing import message_of
from observatory.alerts.rules.condition_rows import rows_of
from observatory.alerts.rules.conditions import By, EventCondition, Measure, RunCondition
from observatory.alerts.rules.events import ENDED_WITH_ERRORS, RUN_SLOWER
from observatory.alerts.web.fired import fired_in, fired_of
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.links import make_link
from observatory.runs.sharing.scopes import scope_of_link
from tests.support.projects import HOSTILE, World, make_run, world
from tests.support.stored_alerts import make_alert

__all__ = ["world"]

pytestmark = pytest.mark.django_db
conditions_about_the_end = pytest.mark.parametrize(
    "condition",
    [
        RunCondition(Measure.DURATION),
        EventCondition(RUN_SLOWER.name, By.CLUSTER),
        EventCondition(ENDED_WITH_ERRORS.name, By.CLUSTER),
    ],
)


@pytest.fixture
def run(world: World) -> Run:
    """From ten to twenty minutes after its cluster's start."""
    return make_run(world.ended, "nightly", 10, 10, outcome=Run.Outcome.ERRED)


def alarm(world: World, run: Run) -> None:
    """Three alerts of a rule and one of another in the run, others before, after and pending."""
    make_alert(world.ended, "memory pressure", 640, 650, 660, message="w1 is full", labels={"worker": "w1"})
    make_alert(world.ended, "memory pressure", 700, 710, 720, labels={"worker": "w2"})
    make_alert(world.ended, "memory pressure", 500, 590, 610, message="long since", labels={"worker": "w3"})
    make_alert(world.ended, "worker lost", 800, 800, severity="critical", message=HOSTILE)
    make_alert(world.ended, "too early", 500, 500, 600)
    make_alert(world.ended, "too late", 1200, 1200, 1300)
    make_alert(world.ended, "pending", 700, None)


def test_alerts_of_a_run_are_grouped_by_rule(world: World, run: Run) -> None:
    alarm(world, run)
    lost, memory = fired_in(run)
    assert (lost.flag.name, lost.flag.count, lost.flag.is_firing) == ("worker lost", 1, True)
    assert (memory.flag.name, memory.flag.count, memory.flag.is_firing) == ("memory pressure", 3, False)
    assert (memory.first, memory.is_earlier, memory.message) == (run.start, True, "long since")
    assert not lost.is_earlier
    assert lost.page_path == f"/alerts/{lost.page_path.strip('/').split('/')[-1]}/"
    assert lost.moment_path.startswith(f"/clusters/{world.ended.pk}/?")


def test_a_run_without_alerts_says_so(world: World, run: Run) -> None:
    assert fired_in(run) == []
    page = world.client("viewer").get(f"/runs/{run.pk}/").content.decode()
    assert "none fired" in page


def test_the_page_of_a_run_lists_rules_with_links_and_escapes_messages(world: World, run: Run) -> None:
    alarm(world, run)
    page = world.client("viewer").get(f"/runs/{run.pk}/").content.decode()
    for found in fired_in(run):
        assert f'href="{found.page_path}"' in page
        assert found.moment_path.replace("&", "&amp;") in page
    assert ", the first of 3" in page
    assert "since before the run" in page
    assert "long since" not in page
    assert HOSTILE not in page
    assert "too early" not in page


@conditions_about_the_end
def test_an_alert_about_the_end_of_a_run_is_on_its_timeline_and_on_a_public_link_at_its_end(
    world: World, run: Run, condition: RunCondition | EventCondition
) -> None:
    make_alert(world.ended, "about the end", 1200, 1200, labels={"run": "nightly"}, message="secret")
    make_alert(world.ended, "another at that time", 1200, 1200)
    [row] = rows_of([condition])
    row.rule = Rule.objects.get(name="about the end")
    row.save()
    link = make_link(Permalink(run=run, audience=Permalink.Audience.ANYONE), world.people["owner"])
    own = world.client("viewer").get(f"/api/v1/runs/{run.pk}/timeline/alerts").json()["alerts"]
    shared = world.client("anonymous").get(f"/api/v1/r/{link.token}/alerts").json()["alerts"]
    assert run.stop is not None
    end = run.stop.timestamp()
    assert [alert["rule"] for alert in own] == ["about the end"]
    at_end = {"severity": "warning", "pending": end, "fired": end, "resolved": end}
    assert shared == [{"rule": "about the end", **at_end}]
    [fired] = fired_of(run, scope_of_link(link))
    assert (fired.flag.name, fired.first) == ("about the end", run.stop)


def test_many_rules_are_shortened(world: World, run: Run) -> None:
    for number in range(12):
        make_alert(world.ended, f"rule {number:02}", 700, 700, 710)
    page = world.client("viewer").get(f"/runs/{run.pk}/").content.decode()
    assert "and 4 more rules" in page


def test_a_public_link_shows_names_numbers_and_times_alone(world: World, run: Run) -> None:
    alarm(world, run)
    link = make_link(Permalink(run=run, audience=Permalink.Audience.ANYONE), world.people["owner"])
    page = world.client("anonymous").get(reverse("link", args=[link.token])).content.decode()
    assert "memory pressure" in page
    assert "worker lost" in page
    assert "w1 is full" not in page
    assert "long since" not in page
    assert "/alerts/" not in page
    fired = fired_of(run, scope_of_link(link))
    assert [(each.message, each.page_path, each.moment_path) for each in fired] == [("", "", "")] * 2
    assert not any(each.flag.is_firing for each in fired)


@conditions_about_the_end
def test_a_notification_about_a_run_names_what_fired_in_it(
    world: World, run: Run, condition: RunCondition | EventCondition
) -> None:
    alarm(world, run)
    alert = make_alert(world.ended, "about a run", 1200, 1200, labels={"run": "nightly"})
    [row] = rows_of([condition])
    row.rule = Rule.objects.get(name="about a run")
    row.save()
    channel = Channel.objects.create(name="everybody", secret="")
    delivery = Delivery.objects.create(channel=channel, alert=alert, change="firing")
    [item] = message_of(uuid4(), "everybody", [delivery]).items
    assert item.fired == ["worker lost", "memory pressure (3)"]
    assert annotations_of(item)["fired"] == "worker lost, memory pressure (3)"


def test_other_notifications_name_no_other_rules(world: World, run: Run) -> None:
    alarm(world, run)
    alert = make_alert(world.ended, "worker lost", 900, 900)
    channel = Channel.objects.create(name="everybody", secret="")
    delivery = Delivery.objects.create(channel=channel, alert=alert, change="firing")
    [item] = message_of(uuid4(), "everybody", [delivery]).items
    assert "fired" not in annotations_of(item)
