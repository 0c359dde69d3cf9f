from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page

from observatory.store.connection import connect
from observatory.store.maintenance.retention import delete_cluster
from tests.support.chromium import new_page, opened
from tests.support.observed_cluster import agent_server, observed
from tests.support.projects import World, world
from tests.support.recorded_cluster import Recorded

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


@pytest.fixture(scope="module")
def context(chromium: Browser, live_server: Any) -> BrowserContext:
    a_static_file = f"{live_server.url}{settings.STATIC_URL}frontend/pages/site/theme.js"
    return opened(chromium, a_static_file, width=1600, height=1000)


@pytest.fixture
def page(
    context: BrowserContext,
    transactional_db: None,
    world: World,
    live_server: Any,
    complaints: list[str],
) -> Iterator[Page]:
    """A page of the superuser's, who is signed in."""
    page = new_page(context, live_server.url)
    session = world.client("superuser").cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
    page.on("dialog", lambda dialog: (complaints.append(f"{page.url}: a dialog opened"), dialog.dismiss()))
    page.on("console", lambda message: _note(complaints, page, message.type, message.text))
    yield page
    page.close()


def _note(complaints: list[str], page: Page, kind: str, text: str) -> None:
    if kind == "error" and ("Content Security Policy" in text or "Failed to load" in text):
        complaints.append(f"{page.url}: {text}")
