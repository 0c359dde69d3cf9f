"""Tasks that stay with a busy worker, while others have nothing to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.why.findings.kinds.test_kinds import assert_saves, first, kinds_of
from tests.why.findings.simulated import Pause, Simulated, Task, futures

pytestmark = pytest.mark.django_db(transaction=True)


def tiles(count: int = 40, seconds: float = 0.4) -> list[Task]:
    """Each is loaded, and looked at where it is."""
    loads = [Task(f"load-{place}", 0.01, nbytes=4_000_000) for place in range(count)]
    return [*loads, *(Task(f"look-{place}", seconds, (load.key,)) for place, load in enumerate(loads))]


def test_tasks_that_stay_with_the_worker_of_their_data_cost_what_others_could_have_done() -> None:
    seeded = Simulated(tiles(), threads=1, stay={"load": 0, "look": 0})
    found = seeded.findings()
    finding = first(found, "piled-tasks")
    assert kinds_of(found) == ["piled-tasks"], "no thread was idle for another reason"
    assert_saves(finding, seeded, Simulated(tiles(), threads=1))
    assert finding["most_wall_seconds"], "the cost is simulated"
    assert finding["sentence"].startswith(
        "40 tasks of look stayed with w0 (tcp://10.0.0.0:4000), which had made 100 % of what they needed: "
    )
    told = {fact["label"]: fact["value"] for fact in finding["facts"]}
    assert told["what they needed, on average"] == "3.81 MiB"
    assert told["tasks that work stealing moved"] == "0"


def test_tasks_that_are_bound_to_a_worker_without_its_data_pile_up_as_well() -> None:
    seeded = Simulated([*futures(8), *futures(60, 0.3, "bound")], stay={"bound": 2})
    finding = first(seeded.findings(), "piled-tasks")
    assert "which had made" not in finding["sentence"]
    assert_saves(finding, seeded, Simulated([*futures(8), *futures(60, 0.3, "bound")]))


def test_tasks_that_wait_less_than_the_scheduler_takes_to_balance_do_not_pile_up() -> None:
    """Work stealing looks once a second: until then it is as it should be."""
    seeded = Simulated([*futures(64, 0.5), *futures(4, 0.5, "bound")], threads=1, stay={"bound": 2})
    assert "piled-tasks" not in kinds_of(seeded.findings())


def test_a_few_short_tasks_behind_a_long_one_are_no_pile() -> None:
    """They could have run elsewhere, and would have ended earlier: what takes the time is the long one."""
    tasks = [*futures(32, 0.4), Task("long-0", 8.0), *futures(2, 0.3, "bound")]
    seeded = Simulated(tasks, threads=1, stay={"bound": 2, "long": 2})
    assert kinds_of(seeded.findings()) == ["narrow-stage"], "the long one"


def test_one_long_task_of_the_same_kind_in_a_pile_is_what_takes_the_time() -> None:
    """Of a skewed join: what waits behind the large partition is a second's work."""
    skewed = [replace(one, seconds=7.0) if one.key == "part-0" else one for one in futures(4, 0.3, "part")]
    found = Simulated([*futures(32, 0.4), *skewed], threads=1, stay={"part": 2}).findings()
    assert "piled-tasks" not in kinds_of(found)


def test_a_pile_that_delays_nothing_does_not_explain_what_does() -> None:
    """The tasks could have run elsewhere, beside the long one, which ends as late then."""
    tasks = [*futures(32, 0.4), Task("long-0", 8.0), *futures(16, 0.3, "bound")]
    seeded = Simulated(tasks, threads=1, stay={"bound": 2, "long": 1})
    assert kinds_of(seeded.findings()) == ["narrow-stage"]


def test_tasks_do_not_pile_up_where_all_threads_have_one() -> None:
    """One worker has far more to do than its share, and no other thread is ever idle before the end."""
    seeded = Simulated([*futures(70, 0.4, "bound"), *futures(210, 0.4)], threads=1, stay={"bound": 2})
    assert kinds_of(seeded.findings()) == []


def test_a_worker_that_has_joined_and_has_not_begun_has_no_threads_for_what_waits_elsewhere() -> None:
    """The scheduler knows it, and it sets up its plugins: for the rest of this window."""
    tasks = futures(30, 0.4, "bound")
    seeded = Simulated(tasks, workers=2, threads=1, joins={1: 0.5}, stay={"bound": 0})
    assert "piled-tasks" not in kinds_of(seeded.findings())
    seeded = Simulated([*tasks, *futures(3, 0.1)], workers=2, threads=1, joins={1: 0.5}, stay={"bound": 0})
    assert kinds_of(seeded.findings())[0] == "piled-tasks", "it has had tasks"


def test_a_paused_worker_has_no_threads_for_what_waits_elsewhere() -> None:
    tasks = futures(30, 0.4, "bound")
    others = [Pause(number, 0.1, 60) for number in (0, 1, 3)]
    seeded = Simulated(tasks, threads=1, pauses=others, stay={"bound": 2})
    assert "piled-tasks" not in kinds_of(seeded.findings())
