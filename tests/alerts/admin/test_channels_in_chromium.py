"""The admin of channels as a real browser shows it: within the policy."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from observatory.alerts.models import Delivery, MaintenanceWindow, Silence
from tests.alerts.notifying.conftest import Fire, fire, make_channel, rule, webhook
from tests.alerts.notifying.receivers import Receiver
from tests.pages.conftest import complaints, context, page, world
from tests.support.projects import HOSTILE, STARTED

__all__ = ["complaints", "context", "fire", "page", "rule", "webhook", "world"]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_channel_is_created_tested_and_corrected(
    page: Page, webhook: Receiver, complaints: list[str]
) -> None:
    page.goto("/admin/alerts/channel/add/")
    page.get_by_label("Name").fill(HOSTILE)
    page.get_by_label("Kind").select_option("webhook")
    page.get_by_label("Address").fill("slack://T0K3N")
    page.get_by_role("button", name="Save and send a test").click()
    expect(page.get_by_text("Only http:// and https:// are supported")).to_be_visible()

    webhook.answers = [(403, "no")]
    page.get_by_label("Address").fill(f"{webhook.url}/T0K3N")
    page.get_by_role("button", name="Save and send a test").click()
    expect(page.get_by_text("Sending the test failed. It answered 403")).to_be_visible()

    expect(page.get_by_text("Stored: http://…")).to_be_visible()
    expect(page.get_by_label("Address")).to_have_value("")
    page.get_by_role("button", name="Save and send a test").click()
    expect(page.get_by_text("A test was sent to")).to_be_visible()
    assert len(webhook.bodies) == 1
    assert "T0K3N" not in page.content()
    assert complaints == []


def test_no_admin_page_of_alerts_violates_the_content_security_policy(
    page: Page, fire: Fire, complaints: list[str]
) -> None:
    channel = make_channel(HOSTILE)
    fire(message=HOSTILE, labels={"worker": HOSTILE})
    silence = Silence.objects.create(matchers='rule="Worker lost"', expires=STARTED, comment=HOSTILE)
    window = MaintenanceWindow.objects.create(name=HOSTILE, starts=STARTED, stops=STARTED, repeat="daily")
    delivery = Delivery.objects.get()
    for model, item in {
        "channel": channel,
        "delivery": delivery,
        "silence": silence,
        "maintenancewindow": window,
    }.items():
        for path in ("", f"{item.pk}/change/"):
            page.goto(f"/admin/alerts/{model}/{path}")
            assert page.locator('img[src="x"]').count() == 0
    assert complaints == []
