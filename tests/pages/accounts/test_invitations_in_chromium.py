"""An invitation in a real browser: an owner copies its link, a newcomer makes an account and joins."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.chromium import TIMEOUT
from tests.support.projects import World

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "correct horse battery"


def test_an_owner_invites_a_newcomer_who_makes_an_account(
    page: Page, world: World, live_server: Any, chromium: Browser, complaints: list[str]
) -> None:
    page.goto("/projects/alpha/")
    page.locator("#invitations").get_by_label("For").fill("ann@example.org")
    page.get_by_role("button", name="Create invitation").click()
    link = page.locator("#invitation-link").inner_text()
    assert link.startswith(f"{live_server.url}/join/obi_")
    expect(page.locator("#invitations tbody tr")).to_contain_text(["ann@example.org"])

    context = chromium.new_context()
    context.set_default_timeout(TIMEOUT)
    visitor = context.new_page()
    visitor.goto(link)
    visitor.get_by_label("Username").fill("ann")
    visitor.get_by_label("Password", exact=True).fill(PASSWORD)
    visitor.get_by_label("Password confirmation").fill(PASSWORD)
    visitor.get_by_role("button", name="Create an account and join").click()
    expect(visitor.get_by_role("heading", level=1)).to_have_text("Alpha")
    expect(visitor.locator(".message")).to_have_text(["You are a member of Alpha."])
    visitor.goto(link)
    expect(visitor.get_by_role("heading", level=1)).to_have_text("This invitation is not valid")
    context.close()
    assert complaints == []
