"""Names of P2P shuffles, from the tasks of Dask's own graphs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import dask
import pytest
from dask.utils import key_split

from observatory.agent.scheduler.shuffle_names import LONGEST, code_of, name_of

BARRIER = "shuffle-barrier-"


def tasks_of(collection: Any) -> dict[Any, Any]:
    """The tasks of a graph as the scheduler has them."""
    graph = dict(collection.__dask_graph__())
    tasks = {
        key: SimpleNamespace(prefix=SimpleNamespace(name=key_split(key)), run_spec=task, dependencies=[])
        for key, task in graph.items()
    }
    for key, task in graph.items():
        tasks[key].dependencies = [tasks[needed] for needed in task.dependencies]
    return tasks


def names_of(collection: Any, spec: Any = None) -> set[str]:
    tasks = tasks_of(collection)
    barriers = [key for key in tasks if isinstance(key, str) and key.startswith(BARRIER)]
    assert barriers
    return {name_of(tasks, barrier, spec) for barrier in barriers}


@pytest.fixture(scope="module")
def frame() -> Any:
    import dask.dataframe
    import pandas

    rows = pandas.DataFrame({"city": ["a", "b"] * 10, "street": range(20), "amount": range(20)})
    return dask.dataframe.from_pandas(rows, npartitions=4, sort=False)


def optimized(collection: Any) -> Any:
    with dask.config.set({"dataframe.shuffle.method": "p2p"}):
        return collection.optimize()


def test_a_shuffle_has_its_collection_and_columns(frame: Any) -> None:
    assert names_of(optimized(frame.shuffle("city"))) == {"shuffle of frompandas by city"}
    assert names_of(optimized(frame.shuffle(["city", "street"]))) == {"shuffle of frompandas by city, street"}
    assert names_of(optimized(frame.shuffle("city").amount)) == {"shuffle of frompandas by city"}
    assert names_of(optimized(frame.shuffle(on_index=True))) == {"shuffle of frompandas by its index"}


def test_set_index_and_merges_are_named_by_their_columns(frame: Any) -> None:
    sort = optimized(frame.set_index("street", divisions=[0, 5, 10, 20]))
    assert names_of(sort) == {"shuffle of frompandas by street"}
    other = frame.rename(columns={"amount": "price"})
    merged = optimized(frame.merge(other, on="city", shuffle_method="p2p"))
    assert {name.split(" of ")[0] for name in names_of(merged)} == {"merge"}
    assert {name.rpartition(" by ")[2] for name in names_of(merged)} == {"city"}


def test_a_rechunk_is_named_by_its_array_and_new_chunks() -> None:
    import dask.array

    with dask.config.set({"array.rechunk.method": "p2p"}):
        rechunked = dask.array.ones((400, 400), chunks=(100, 400)).rechunk((400, 100))
    spec = SimpleNamespace(new=((400,), (100, 100, 100, 100)))
    [name] = names_of(rechunked, spec)
    assert name.startswith("rechunk of ones")
    assert name.endswith(" into chunks of 400 × 100")


def test_a_column_of_the_specification_is_taken(frame: Any) -> None:
    shuffled = optimized(frame.shuffle("city"))
    assert names_of(shuffled, SimpleNamespace(column="town")) == {"shuffle of frompandas by town"}
    assert names_of(shuffled, SimpleNamespace(column="_partitions")) == {"shuffle of frompandas by city"}
    [long] = names_of(shuffled, SimpleNamespace(column="x" * 1_000))
    assert len(long) == LONGEST


def test_tasks_that_tell_nothing_leave_the_name_open() -> None:
    assert name_of({}, "shuffle-barrier-1", None) == ""
    alone = SimpleNamespace(prefix=SimpleNamespace(name="x"), run_spec=None, dependencies=[])
    assert name_of({"shuffle-barrier-1": alone}, "shuffle-barrier-1", None) == "shuffle"


def test_the_line_that_submitted_a_group_is_that_of_the_innermost_frame() -> None:
    def frame(code: str, line: int) -> Any:
        return SimpleNamespace(
            code=code, filename="/home/etl.py", lineno_frame=41 + line, lineno_relative=line - 1
        )

    computation = SimpleNamespace(
        groups={"g"}, code=[(frame("main()", 1), frame("def etl():\n    frame.shuffle('a').compute()\n", 2))]
    )
    assert code_of([computation], "g") == "/home/etl.py:43: frame.shuffle('a').compute()"
    assert code_of([computation], "h") == ""
    assert code_of([SimpleNamespace(groups={"g"}, code=[])], "g") == ""
    broken = SimpleNamespace(groups={"g"}, code=[(frame("", 9),)])
    assert code_of([broken], "g") == ""
