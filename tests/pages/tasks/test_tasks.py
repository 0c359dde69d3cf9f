"""The page of one task."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urlencode

import pytest
from django.utils.html import escape

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.keys import name_key
from observatory.store.texts import clean_name
from observatory.wire.records import Action, Span
from tests.support import odd_keys
from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "('load-1', 17)"


def show(world: World, key: str = "") -> str:
    query = f"?{urlencode({'key': key})}" if key else ""
    answer = world.client("viewer").get(f"/clusters/{world.ended.pk}/tasks/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_task_tells_its_story_and_leads_to_its_neighbours(world: World, recorded: Recorded) -> None:
    recorded.worker("tcp://a:1", "w0")
    recorded.transition(1, KEY, "waiting", "processing", "tcp://a:1")
    recorded.span(KEY, "tcp://a:1", 1.1, 2.5)
    recorded.transition(2.6, KEY, "processing", "memory", "tcp://a:1")
    recorded.task(KEY, "(0, 1, 2)", {"purpose": "a test"})
    recorded.dependency(KEY, "('load-1', 0)")
    recorded.dependency("('load-1', 18)", KEY)
    error = recorded.error(0.5, KEY, outcome="retried")
    shown = show(world, KEY)
    assert re.findall(r'data-from="(\w+)" data-to="(\w+)"', shown) == [
        ("waiting", "processing"),
        ("processing", "memory"),
    ]
    assert "compute for 1.40 s" in shown
    assert re.search(r"data-stay>w0\s", shown)
    assert f"/errors/{error}/" in shown
    assert "(0, 1, 2)" in shown
    assert "a test" in shown
    [dependencies] = re.findall(r"data-dependencies>(.*?)</ul>", shown, re.DOTALL)
    assert urlencode({"key": "('load-1', 0)"}) in dependencies
    [dependents] = re.findall(r"data-dependents>(.*?)</ul>", shown, re.DOTALL)
    assert urlencode({"key": "('load-1', 18)"}) in dependents


def test_without_a_key_and_with_an_unknown_one_the_page_says_what_to_do(
    world: World, recorded: Recorded
) -> None:
    assert "Enter any part of a key" in show(world)
    assert "No task with this key" in show(world, "('load-1', 99)")
    assert "No agent is installed" in show(world, "('load-1', 99)")


def test_a_task_with_many_dependents_has_the_number_of_all_and_lists_the_first(
    world: World, recorded: Recorded
) -> None:
    for number in range(100, 301):
        recorded.dependency(f"('load-1', {number})", KEY)
    recorded.dependency("('load-1', 100)", KEY)
    shown = show(world, KEY)
    assert re.search(r'Dependents <span class="muted">201<', shown)
    [dependents] = re.findall(r"data-dependents>(.*?)</ul>", shown, re.DOTALL)
    assert dependents.count("<li>") == 200
    assert "The first 200." in shown


def test_tasks_with_keys_of_any_type_are_found_and_their_pages_open(world: World, recorded: Recorded) -> None:
    recorded.worker("tcp://a:1", "w0")
    named = {key: name_key(key) for key in odd_keys.KEYS}
    spans = [
        Span("tcp://a:1", 1, text, prefix, group, Action.COMPUTE, START + number, START + number + 0.5)
        for number, (text, prefix, group) in enumerate(named.values())
    ]
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, [], spans, [], [], []))
    alike = [text for text, *_ in named.values()]
    for key, (text, prefix, _) in named.items():
        found = world.client("viewer").get("/search/", {"q": text}).content.decode()
        links = re.findall(r'href="(/clusters/\d+/tasks/\?key=[^"]*)"', found)
        page = world.client("viewer").get(unescape(links[0])).content.decode()
        assert f'data-field="key">{escape(text)}<' in page, key
        assert (
            escape(clean_name(prefix)) in re.findall(r'data-field="prefix">(.*?)</dd>', page, re.DOTALL)[0]
        ), key
        assert ("data-alike" in page) == (alike.count(text) > 1), key
    assert "look like this" in show(world, "1000")
