"""An owner of a project comes to the admin from a page, and sets up a rule and a channel there."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from observatory.alerts.models import Channel, Rule
from tests.alerts.setup import set_up_alerts
from tests.support.projects import World
from tests.support.recorded_cluster import Recorded

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def become(page: Page, world: World, role: str, url: str) -> None:
    session = world.client(role).cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": url}])


def test_an_owner_sets_up_alerts_of_the_project(
    page: Page, memory: Recorded, world: World, live_server: Any, complaints: list[str]
) -> None:
    set_up_alerts(world)
    become(page, world, "owner", live_server.url)
    page.goto("/alerts/")
    page.get_by_role("link", name="Admin", exact=True).click()
    index = page.locator(".owner-index")
    expect(index).to_contain_text("Alerts of Alpha")
    expect(page.get_by_text("Ingest tokens", exact=True)).to_have_count(0)
    for width in 1600, 390:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    page.set_viewport_size({"width": 1600, "height": 1000})

    index.get_by_role("link", name="Rules", exact=True).click()
    expect(page.get_by_text("rule of alpha")).to_be_visible()
    expect(page.get_by_text("rule of beta")).to_have_count(0)
    page.goto("/admin/alerts/rule/add/")
    expect(page.locator("#id_projects option:checked")).to_have_text("Alpha")
    page.get_by_label("quantity", exact=True).first.select_option("worker-memory")
    expect(page.locator("#id_name")).not_to_have_value("")
    page.get_by_label("Clusters and runs to test on").fill("e")
    expect(page.locator("#back-test-places")).to_contain_text("evening")
    expect(page.locator("#back-test-places")).not_to_contain_text("secret of beta")
    page.get_by_label("Clusters and runs to test on").fill("")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/alerts/rule/")
    rule = Rule.objects.latest("pk")
    assert (list(rule.projects.all()), rule.created_by) == ([world.alpha], world.people["owner"])

    page.goto("/admin/alerts/channel/add/")
    page.locator("#id_name").fill("team")
    page.locator("#id_kind").select_option("webhook")
    page.locator("#id_address").fill("https://1.1.1.1/T0K3N")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/alerts/channel/")
    assert list(Channel.objects.get(name="team").projects.all()) == [world.alpha]
    assert complaints == []
