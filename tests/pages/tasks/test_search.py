"""The search in everything that a person may see."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from observatory.clusters.access import visible_clusters
from observatory.runs import search
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import Recorded

pytestmark = pytest.mark.django_db(transaction=True)


def show(world: World, role: str, path: str, **query: str) -> str:
    answer = world.client(role).get(f"{path}?{urlencode(query)}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_tasks_workers_prefixes_runs_and_clusters_are_found(world: World, recorded: Recorded) -> None:
    recorded.worker("tcp://a:1", "w0-alpha")
    recorded.span("('load-1', 17)", "tcp://a:1", 1, 2)
    shown = show(world, "viewer", "/search/", q="LOAD")
    assert 'data-found="prefixes"' in shown
    assert 'data-task="(&#x27;load-1&#x27;, 17)"' in shown
    assert 'data-found="workers"' in show(world, "viewer", "/search/", q="w0-al")
    assert "nightly of alpha" in show(world, "viewer", "/search/", q="nightly")
    assert "evening" in show(world, "viewer", "/search/", q="even")
    assert "Nothing found" in show(world, "viewer", "/search/", q="zzz")
    assert "Find anything" in show(world, "viewer", "/search/")


def test_other_projects_are_not_searched(world: World, recorded: Recorded) -> None:
    recorded.worker("tcp://a:1", "w0-alpha")
    recorded.span("('load-1', 17)", "tcp://a:1", 1, 2)
    for role in ("outsider", "nobody"):
        for text in ("load", "('load-1', 17)", "w0-al", "nightly", "evening"):
            shown = show(world, role, "/search/", q=text)
            assert "data-found" not in shown
            answer = world.client(role).get("/api/v1/search", {"q": text}).json()
            assert not any(answer[name] for name in ("tasks", "runs", "prefixes", "workers", "clusters"))
    found = world.client("viewer").get("/api/v1/search", {"q": "load"}).json()
    assert found["tasks"][0]["tasks"][0]["key"] == "('load-1', 17)"


def test_hostile_keys_are_text(world: World, recorded: Recorded) -> None:
    recorded.worker("tcp://a:1", HOSTILE)
    recorded.span(HOSTILE, "tcp://a:1", 1, 2)
    for path in ("/search/", f"/clusters/{world.ended.pk}/tasks/"):
        shown = show(world, "viewer", path, q="onerror")
        assert "onerror" in shown
        assert "<img src=x" not in shown


def test_a_search_for_what_no_name_can_be_finds_nothing(world: World) -> None:
    for path in ("/search/", f"/clusters/{world.live.pk}/tasks/"):
        show(world, "viewer", path, q="a\x01b", skip="9" * 5000, older="k9_9")


def test_the_first_page_has_the_names_and_leads_to_the_tasks_of_further_clusters(
    world: World, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many clusters there are, names don't wait for tasks."""
    monkeypatch.setattr(search, "FIRST_BUDGET", 0.0)
    recorded.worker("tcp://a:1", "w0-alpha")
    recorded.span("('load-1', 17)", "tcp://a:1", 1, 2)
    total = visible_clusters(world.people["viewer"]).count()
    shown = show(world, "viewer", "/search/", q="load")
    assert 'data-found="prefixes"' in shown
    assert f"Tasks of 1 of {total} clusters are searched." in shown
    following = show(world, "viewer", "/search/", q="load", skip="1")
    assert 'rel="next"' not in following
    assert "data-task=" in shown + following


@pytest.mark.browser
def test_further_clusters_are_searched_without_a_click(
    page: Page, world: World, recorded: Recorded, monkeypatch: pytest.MonkeyPatch, complaints: list[str]
) -> None:
    monkeypatch.setattr(search, "FIRST_BUDGET", 0.0)
    monkeypatch.setattr(search, "BUDGET", 0.0)
    recorded.worker("tcp://a:1", "w0-alpha")
    recorded.span("('load-1', 17)", "tcp://a:1", 1, 2)
    page.goto("/search/?q=17")
    expect(page.locator("[data-task]")).to_have_count(1)
    expect(page.locator("#search-progress nav")).to_have_count(0)
    page.goto("/search/?q=nothing-has-this")
    expect(page.get_by_role("heading", name="Nothing more found")).to_be_visible()
    assert complaints == []
