"""The pages of errors: what a reader finds there."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest

from tests.support.projects import HOSTILE, World, store_extent
from tests.support.recorded_cluster import Recorded

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "('load-1', 17)"
ADDRESSES = [f"tcp://10.0.0.{number}:4000" for number in (1, 2, 3)]


def show(world: World, path: str, role: str = "viewer", status: int = 200) -> str:
    answer = world.client(role).get(f"/clusters/{world.ended.pk}/{path}")
    assert answer.status_code == status
    return answer.content.decode()


def test_the_list_shows_groups_and_a_group_leads_to_its_errors(world: World, recorded: Recorded) -> None:
    recorded.agent()
    recorded.error(1, "('load-1', 1)", message="no column a")
    newest = recorded.error(2, "('load-1', 2)", message="no column b")
    only = recorded.error(3, KEY, "KilledWorker", outcome="killed")
    shown = show(world, "errors/")
    assert re.findall(r'data-group="(\w+)"', shown) == ["KilledWorker", "ValueError"]
    assert f"/errors/{only}/" in shown, "a single error is one click away"
    assert "no column b" in shown
    assert "no column a" not in shown
    [link] = re.findall(r'href="(\?type=ValueError[^"]*)"', shown)
    group = show(world, "errors/" + link.replace("&amp;", "&"))
    assert f"/errors/{newest}/" in group
    assert "no column a" in group
    assert "KilledWorker" not in group


def test_one_page_tells_who_died_how_and_what_became_of_the_task(world: World, recorded: Recorded) -> None:
    for number, address in enumerate(ADDRESSES):
        died = -40.0 + 20 * number
        events = [
            (died + 0.4, "worker-restarted", {"message": "ended by signal 9; started again", "signal": 9})
        ]
        memory = {died - 30: 1.0, died - 2: 3.5}
        recorded.worker(address, f"w{number}", died=died, memory=memory, events=events)
        recorded.transition(died - 15, KEY, "waiting", "processing", address)
        recorded.log(died - 0.2, f"{address} exceeded 95% memory budget", 30, "nanny", address)
    error = recorded.error(0.1, KEY, "KilledWorker", "all workers died", "killed", ADDRESSES, dependents=12)
    shown = show(world, f"errors/{error}/")
    assert f'data-error="{error}" data-outcome="killed"' in shown
    assert "The 3 workers that died" in shown
    assert re.findall(r'data-worker="([^"]*)"', shown) == ADDRESSES
    assert shown.count('data-reason="lost"') == 3
    assert shown.count("exceeded 95% memory budget") == 3
    assert shown.count('data-event="worker-restarted"') == 3
    assert shown.count("ended by signal 9; started again") == 3
    assert re.findall(r'data-bytes="(\d+)"', shown) == ["1073741824", "3758096384"] * 3
    assert shown.count('data-limit="4294967296" data-terminate="0.95"') == 3
    assert shown.count('data-from="waiting" data-to="processing"') == 3
    assert "12 dependent tasks failed, too" in shown
    [timeline] = re.findall(r'data-link="timeline" href="([^"]*)"', shown)
    for part in (f"/clusters/{world.ended.pk}/?from=", "&amp;to=", "&amp;at=1780000000.100000", "&amp;key="):
        assert part in timeline


def test_an_error_of_code_shows_its_traceback_and_its_worker(world: World, recorded: Recorded) -> None:
    recorded.worker(ADDRESSES[0], "w0", memory={-5: 1})
    error = recorded.error(0, KEY, workers=ADDRESSES[:1], traceback="Traceback\n  File <x>")
    shown = show(world, f"errors/{error}/")
    assert "Traceback\n  File &lt;x&gt;</pre>" in shown
    assert 'data-copy="traceback-text"' in shown
    assert "survived" in shown


def test_an_error_shows_what_was_called_with_which_arguments(world: World, recorded: Recorded) -> None:
    error = recorded.error(0, KEY, function="read_part", arguments="'<a.csv>'\nskip=3")
    for path in (f"errors/{error}/", f"tasks/?key={KEY}"):
        shown = show(world, path)
        assert "&#x27;&lt;a.csv&gt;&#x27;\nskip=3</pre>" in shown
        assert "read_part</code>" in shown
    assert "calls <code>read_part</code>" in show(world, "errors/")
    assert "read_part" in show(world, "errors/?type=ValueError&format=csv")
    assert f"/errors/{error}/" in show(world, "errors/?text=read_part")


def test_what_is_hostile_is_text(world: World, recorded: Recorded) -> None:
    recorded.worker(HOSTILE, HOSTILE, died=-1, memory={-2: 1}, events=[(-1, "topic", {HOSTILE: HOSTILE})])
    recorded.log(-2, HOSTILE, logger=HOSTILE, role="worker", worker=HOSTILE, traceback=HOSTILE)
    recorded.transition(-3, HOSTILE, "waiting", "processing", HOSTILE)
    recorded.task(HOSTILE, HOSTILE, {HOSTILE: HOSTILE})
    recorded.dependency(HOSTILE, HOSTILE)
    error = recorded.error(0, HOSTILE, HOSTILE, HOSTILE, "killed", [HOSTILE], HOSTILE, HOSTILE, HOSTILE)
    for path in ("errors/", f"errors/{error}/", "logs/", f"tasks/?key={HOSTILE}"):
        shown = show(world, path)
        assert "onerror" in shown
        assert "<img src=x" not in shown


def test_records_of_another_shape_than_the_agents_break_no_page(world: World, recorded: Recorded) -> None:
    recorded.worker("tcp://a:1", "w0", events=[(-1, "topic", {"memory": "a lot", "message": 7})])
    for workers in ({"tcp://a:1": 1}, [None, 1, ["tcp://a:1"], "tcp://a:1"], []):
        error = recorded.error(0, KEY, workers=workers)
        assert "ValueError" in show(world, f"errors/{error}/")
    assert "ValueError" in show(world, "errors/")


def test_an_error_is_there_for_members_alone(world: World, recorded: Recorded) -> None:
    error = recorded.error(0, KEY)
    for role in ("outsider", "nobody"):
        show(world, f"errors/{error}/", role, status=404)
    show(world, f"errors/{uuid4()}/", status=404)
    # not through another cluster either, which one may see
    answer = world.client("viewer").get(f"/clusters/{world.live.pk}/errors/{error}/")
    assert answer.status_code == 404


def test_an_empty_list_says_why_it_is_empty(world: World, recorded: Recorded) -> None:
    store_extent(world.ended, errors=8)
    without = show(world, "errors/")
    assert "No agent is installed" in without
    assert "8 tasks failed" in without
    assert "docs/agent.md" in without
    recorded.agent()
    assert "No task has failed since" in show(world, "errors/")
    assert "No task failed in this time" in show(world, "errors/?from=1700000000&to=1700000001")
    assert "No matching errors" in show(world, "errors/?text=zzz")


def test_nonsense_in_the_query_string_is_ignored(world: World, recorded: Recorded) -> None:
    recorded.error(0, KEY)
    for query in ("page=-1", "page=99999999999999", "page=x", "outcome=x"):
        assert "ValueError" in show(world, f"errors/?{query}") or "page" in query
    for mark in ("x", "1_x", "99999999999999999_x", f"{10**15}_{uuid4()}x", f"{'9' * 16}_{uuid4()}"):
        assert "ValueError" in show(world, f"errors/?type=ValueError&older={mark}")
