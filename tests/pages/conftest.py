from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from observatory.store.connection import connect
from observatory.store.maintenance.retention import delete_cluster
from tests.chromium import TIMEOUT
from tests.observed import agent_server, observed
from tests.recorded import Recorded
from tests.world import World, world

__all__ = ["agent_server", "observed", "world"]


@pytest.fixture
def recorded(transactional_db: None, world: World) -> Iterator[Recorded]:
    """Stores records of the world's cluster that ended."""
    with connect() as connection:
        yield Recorded(connection, world.ended.pk)
    delete_cluster(world.ended.pk)


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained of: violations of the policy, errors of scripts, dialogs that opened."""
    return []


@pytest.fixture
def page(
    chromium: Browser, transactional_db: None, world: World, live_server: Any, complaints: list[str]
) -> Iterator[Page]:
    """A page of the superuser's, who is signed in."""
    context = chromium.new_context(base_url=live_server.url, viewport={"width": 1600, "height": 1000})
    context.set_default_timeout(TIMEOUT)
    session = world.client("superuser").cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
    page.on("dialog", lambda dialog: (complaints.append(f"{page.url}: a dialog opened"), dialog.dismiss()))
    page.on("console", lambda message: _note(complaints, page, message.type, message.text))
    yield page
    context.close()


def _note(complaints: list[str], page: Page, kind: str, text: str) -> None:
    if kind == "error" and ("Content Security Policy" in text or "Failed to load" in text):
        complaints.append(f"{page.url}: {text}")
