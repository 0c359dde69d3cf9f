"""The admin of receivers of runs as a real browser shows it: within the policy."""

from __future__ import annotations

import pytest
from django.utils.timezone import now
from playwright.sync_api import Page, expect

from observatory.exchange.models import Receiver, RunDelivery
from tests.exchange.receivers.http_receiver import Answer, HttpReceiver
from tests.pages.conftest import complaints, context, page, world
from tests.support.projects import HOSTILE, World

__all__ = ["complaints", "context", "page", "world"]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_receiver_is_made_tested_and_corrected(
    page: Page, endpoint: HttpReceiver, complaints: list[str]
) -> None:
    page.goto("/admin/exchange/receiver/add/")
    page.locator("#id_name").fill(HOSTILE)
    page.get_by_label("Address").fill("slack://T0K3N")
    page.get_by_role("button", name="Save and send a test").click()
    expect(page.get_by_text("Only http:// and https:// are supported")).to_be_visible()

    endpoint.answers = [Answer(401)]
    page.get_by_label("Address").fill(f"{endpoint.url}/T0K3N")
    page.get_by_label("Headers").fill("Authorization: Bearer s3cr3t")
    page.get_by_role("button", name="Save and send a test").click()
    expect(page.get_by_text("Sending the test failed. It answered 401")).to_be_visible()

    expect(page.get_by_text("Stored: http://…")).to_be_visible()
    expect(page.get_by_label("Address")).to_have_value("")
    endpoint.requests.clear()
    page.get_by_role("button", name="Save and send a test").click()
    expect(page.get_by_text("A test was sent to")).to_be_visible()
    ((path, headers),) = endpoint.requests
    assert path == "/T0K3N/v1/traces"
    assert headers["Authorization"] == "Bearer s3cr3t"
    assert "T0K3N" not in page.content()
    assert "s3cr3t" not in page.content()
    assert complaints == []


def test_no_admin_page_of_receivers_violates_the_content_security_policy(
    page: Page, world: World, receiver: Receiver, complaints: list[str]
) -> None:
    Receiver.objects.update(name=HOSTILE)
    sent = {"state": "sent", "attempts": 1, "sent": now(), "report": HOSTILE}
    delivery = RunDelivery.objects.create(receiver=receiver, run=world.run, **sent)
    for model, item in {"receiver": receiver, "rundelivery": delivery}.items():
        for path in ("", f"{item.pk}/change/"):
            page.goto(f"/admin/exchange/{model}/{path}")
            assert page.locator('img[src="x"]').count() == 0
    assert complaints == []
