"""The audit log as a real browser shows it: hostile text, a phone, the keyboard, dark."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import Project
from observatory.clusters.tokens import ingest_tokens
from observatory.store.audit.actor import Actor, acting
from tests.support.projects import HOSTILE, World

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_the_log_is_read_and_filtered_with_the_keyboard_and_on_a_phone(
    page: Page, world: World, complaints: list[str]
) -> None:
    owner = world.people["owner"]
    with acting(lambda: Actor("person", "owner", owner.pk, address="2001:db8::7", door="page")):
        ingest_tokens.make(world.alpha, HOSTILE, None)
        Project.objects.filter(pk=world.alpha.pk).update(retention_days=7, name="A" * 100)
        Membership.objects.filter(user=world.people["viewer"]).update(role="editor")
    page.goto("/audit/")
    rows = page.locator("table.audit tbody tr")
    expect(rows.filter(has_text="changed member viewer")).to_contain_text("viewer")
    everything = rows.count()
    field = page.get_by_label("Text")
    field.focus()
    page.keyboard.type("onerror")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(1)
    assert everything > 1
    expect(rows).to_contain_text(HOSTILE)
    assert page.locator('img[src="x"]').count() == 0
    for width, height in ((1600, 1000), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            page.goto("/audit/")
            expect(rows.first).to_be_visible()
            assert page.evaluate(OVERFLOW) <= 0
            if folder := os.environ.get("PICTURES"):
                page.screenshot(path=Path(folder) / f"audit-{width}-{scheme}.png")
    page.set_viewport_size({"width": 1600, "height": 1000})
    assert complaints == []
