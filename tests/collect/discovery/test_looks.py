"""How often Celery looks which discoveries are due."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from observatory.collect.tasks import DISCOVERY_INTERVAL, FOLLOWING, discover
from tests.collect.discovery.lists import make_discovery, serving


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    monkeypatch.setattr(discover, "apply_async", lambda arguments, **options: found.append(arguments))
    return found


def test_without_a_discovery_no_look_follows(store: Any, sent: list[tuple[int, ...]]) -> None:
    discover()
    assert sent == []


def test_with_a_discovery_looks_follow_until_the_next_scheduled_one(
    store: Any, sent: list[tuple[int, ...]]
) -> None:
    paths: list[str] = []

    def answer(path: str, query: Any) -> list[Any]:
        paths.append(path)
        return []

    with serving(answer) as server:
        make_discovery("http_sd", f"{server.url}/targets")
        discover(1)
        discover(0)
    assert paths == ["/targets"], "it is not due twice"
    assert sent == [(0,)]
    assert settings.CELERY_BEAT_SCHEDULE["discover"]["schedule"] == (FOLLOWING + 1) * DISCOVERY_INTERVAL
