"""The page of log lines."""

from __future__ import annotations

import re

import pytest

from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded

pytestmark = pytest.mark.django_db(transaction=True)


def show(world: World, query: str = "") -> str:
    answer = world.client("viewer").get(f"/clusters/{world.ended.pk}/logs/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def messages(shown: str) -> list[str]:
    return re.findall(r'class="log-text">([^<]*)<', shown)


def link(shown: str, name: str) -> str:
    [found] = re.findall(rf'href="([^"]*)">{name}</a>', shown)
    return str(found).replace("&amp;", "&")


def test_lines_come_newest_first_in_pages_that_lead_to_each_other(world: World, recorded: Recorded) -> None:
    for number in range(450):
        recorded.log(number // 7, f"line {number:03}")
    first = show(world, "?logger=distributed")
    assert 'rel="prev"' not in first
    second = show(world, link(first, "Older"))
    third = show(world, link(second, "Older"))
    assert [len(messages(page)) for page in (first, second, third)] == [200, 200, 50]
    assert len({*messages(first), *messages(second), *messages(third)}) == 450
    assert messages(first)[0].startswith("line 44")
    assert 'rel="next"' not in third
    assert messages(show(world, link(third, "Newer"))) == messages(second)
    assert messages(show(world, link(third, "Newest"))) == messages(first)


def test_a_query_string_is_a_permalink_of_what_is_shown(world: World, recorded: Recorded) -> None:
    recorded.worker("tcp://a:1", "w0")
    recorded.log(1, "early", 30, "worker", "tcp://a:1")
    recorded.log(5, "found", 30, "worker", "tcp://a:1", traceback="Traceback\nKeyError")
    recorded.log(5, "mere", 20, "worker", "tcp://a:1")
    shown = show(world, f"?level=30&role=worker&worker=w0&from={START + 4}&to={START + 6}")
    assert messages(shown) == ["found"]
    assert '<option value="30" selected>' in shown
    assert 'value="2026-05-28T20:26:44.000"' in shown, "the window is in the form, in UTC"
    assert "<details><summary>Traceback</summary><pre>Traceback\nKeyError</pre></details>" in shown
    assert f"/clusters/{world.ended.pk}/?from={START}00000&amp;to=" in shown, "a line leads to the timeline"
    assert messages(show(world, "?from=2026-05-28T20:26:44.000&to=2026-05-28T20:26:46")) == messages(
        show(world, f"?from={START + 4}&to={START + 6}")
    )


def test_an_empty_page_says_why(world: World, recorded: Recorded) -> None:
    assert "No agent is installed" in show(world)
    recorded.agent()
    assert "Nothing was logged since" in show(world)
    assert "No matching lines" in show(world, "?text=zzz")


@pytest.mark.parametrize(
    "query", ["level=x", "role=x", "from=x&to=inf", "from=1e400", "older=1_2", "newer=_"]
)
def test_nonsense_in_the_query_string_is_ignored(world: World, recorded: Recorded, query: str) -> None:
    recorded.log(1, "there")
    assert messages(show(world, f"?{query}")) == ["there"]
