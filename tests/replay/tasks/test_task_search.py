"""The search for tasks by a part of their key, in one cluster."""

from __future__ import annotations

from itertools import pairwise

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay import task_search
from observatory.replay.task_search import Found, Position, Wanted, search_tasks
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.keys import split_key
from observatory.wire.records import Action, Span, Status
from tests.replay.conftest import make_cluster
from tests.support.recorded_cluster import START, Recorded

pytestmark = pytest.mark.django_db(transaction=True)

WORKER = "tcp://10.1.2.3:4000"


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    return make_cluster(START - 100)


@pytest.fixture
def recorded(cluster: Cluster, direct: psycopg.Connection) -> Recorded:
    recorded = Recorded(direct, cluster.pk)
    recorded.worker(WORKER, "w0")
    return recorded


def compute(recorded: Recorded, *keys: str, every: float = 1.0, status: Status = Status.OK) -> None:
    """One task after the other, from START on."""
    spans = [
        Span(WORKER, 1, key, *split_key(key), Action.COMPUTE, START + every * number,
             START + every * (number + 0.5), 8, "int", status)
        for number, key in enumerate(keys)
    ]  # fmt: skip
    with Writer() as writer:
        writer.write(Batch.of(recorded.cluster, [], spans, [], [], []))


def search(
    recorded: Recorded, text: str, limit: int = 50, older: Position | None = None, **more: object
) -> Found:
    wanted = Wanted(text, **more)  # type: ignore[arg-type]
    return search_tasks(recorded.connection, recorded.cluster, wanted, limit, older)


def keys(found: Found) -> list[str]:
    return [each.task.key for each in found.tasks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inc", ["inc-00ff", "('inc-2f', 0, 3)"]),
        ("INC-2F", ["('inc-2f', 0, 3)"]),
        ("2f', 0, 3", ["('inc-2f', 0, 3)"]),
        ("c-00f", ["inc-00ff"]),
        ("0, 3)", ["('sum-9c', 0, 3)", "('inc-2f', 0, 3)"]),
        ("('sum-9c', 0, 3)", ["('sum-9c', 0, 3)"]),
        ("%", ["a%_b-1"]),
        ("_b", ["a%_b-1"]),
        ("i_c", []),
        ("\\", []),
        ("ÄPFEL", ["äpfel-1"]),
    ],
)
def test_any_part_of_a_key_finds_it_whatever_its_case(
    recorded: Recorded, text: str, expected: list[str]
) -> None:
    compute(recorded, "('inc-2f', 0, 3)", "('sum-9c', 0, 3)", "inc-00ff", "a%_b-1", "äpfel-1")
    found = search(recorded, text)
    assert keys(found) == expected
    assert found.older is None


def test_a_task_has_its_last_computation_state_and_error(recorded: Recorded) -> None:
    compute(recorded, "load-1", "load-1")
    compute(recorded, "fail-1", status=Status.ERROR)
    recorded.transition(5, "load-1", "memory", "released", group="load")
    recorded.error(6, "fail-1", "OSError", group="fail", prefix="fail")
    [load] = search(recorded, "load-1").tasks
    assert load.task.time.timestamp() == START + 1
    assert (load.task.prefix, load.task.worker, load.state, load.error) == ("load", "w0", "released", None)
    [fail] = search(recorded, "fail").tasks
    assert fail.state == "erred"
    assert fail.error is not None
    assert fail.error.exception_type == "OSError"


def test_tasks_that_did_not_compute_come_last_and_alone_if_wanted(recorded: Recorded) -> None:
    compute(recorded, "load-1", "load-2")
    for key in ("load-1", "load-2", "load-3"):
        recorded.task(key, "(0, 0, 0)", {}, group="load")
    recorded.transition(1, "load-3", "released", "no-worker", group="load")
    assert keys(search(recorded, "load-")) == ["load-2", "load-1", "load-3"]
    [waiting] = search(recorded, "load-", only_not_computed=True).tasks
    assert (waiting.task.key, waiting.task.stop, waiting.state) == ("load-3", None, "no-worker")
    assert keys(search(recorded, "load-1", only_not_computed=True)) == []
    assert keys(search(recorded, "load-3")) == ["load-3"]


def test_pages_follow_each_other_without_gap_or_repetition(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_search, "FIRST_ROWS", 7)
    monkeypatch.setattr(task_search, "BATCH", 4)
    # twice the same times: what orders them is the key
    compute(recorded, *(f"('inc-1', {number})" for number in range(30)))
    compute(recorded, *(f"double-{number}inc-1" for number in range(30)))
    for number in range(10):
        recorded.task(f"late-inc-1-{number}", "", {}, group="late")
    seen: list[str] = []
    older, pages = None, 0
    while older is not None or not pages:
        found = search(recorded, "inc-1", 9, older and Position.parse(str(older)))
        assert len(found.tasks) <= 9
        seen += keys(found)
        older, pages = found.older, pages + 1
    assert len(seen) == len(set(seen)) == 70
    assert pages == 8
    assert seen[:30] == [f"('inc-1', {number})" for number in reversed(range(30))], "groups come first"
    assert set(seen[60:]) == {f"late-inc-1-{number}" for number in range(10)}


def test_a_search_that_takes_too_long_says_how_far_it_came_and_goes_on_there(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_search, "FIRST_ROWS", 10)
    monkeypatch.setattr(task_search, "QUICK", 0.0)
    monkeypatch.setattr(task_search, "BUDGET", -1.0)
    compute(recorded, "needle-1", *(f"hay-{number}" for number in range(99)))
    found = search(recorded, "needle-")
    assert found.tasks == []
    reached: list[float] = []
    seen: list[str] = []
    while found.older is not None:
        assert found.searched_to is not None
        reached.append(found.searched_to.timestamp())
        found = search(recorded, "needle-", older=found.older)
        seen += keys(found)
    assert seen == ["needle-1"]
    assert len(reached) > 5
    # computed tasks first, then those that did not compute
    turns = sum(later >= earlier for earlier, later in pairwise(reached))
    assert turns <= 1


def test_only_the_time_that_is_asked_for_is_searched(recorded: Recorded) -> None:
    compute(recorded, *(f"load-{number}" for number in range(10)))
    start, stop = round((START + 2) * 1e6), round((START + 5) * 1e6)
    found = search(recorded, "load", start=start, stop=stop)
    assert keys(found) == ["load-4", "load-3", "load-2"]
    assert keys(search(recorded, "load-9", start=start, stop=stop)) == []


def test_another_clusters_tasks_are_not_found(recorded: Recorded, direct: psycopg.Connection) -> None:
    other = Recorded(direct, make_cluster(START - 100, "Scheduler-2").pk)
    other.worker(WORKER, "w0")
    compute(other, "secret-1")
    assert keys(search(recorded, "secret")) == []
    assert keys(search(recorded, "secret-1")) == []
    assert keys(search(other, "secret")) == ["secret-1"]


def test_positions_that_nobody_wrote_are_none() -> None:
    for text in ("", "x1_1", "k1", "k1_", "k99999999999999999_1", "k1_1; DROP TABLE span"):
        assert Position.parse(text) is None
    assert Position.parse(f"k1_{10**18 * 9}") is not None
    position = Position.parse(f"k{'9' * 16}_-{'9' * 19}")
    assert position is not None
    assert position.number == -(2**63)
