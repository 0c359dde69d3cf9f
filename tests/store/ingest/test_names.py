"""Names and what writers remember of them are limited; records over a limit are stored under another name."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache.backends.locmem import LocMemCache

from observatory.store.ingest import source_limits
from observatory.store.ingest import writer as writers
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.interning import names
from observatory.store.ingest.known_clusters import KNOWN_CLUSTERS, KnownClusters
from observatory.store.ingest.publishing.committed import Committed
from observatory.store.ingest.source_limits import SourceLimit
from observatory.store.ingest.writer import Writer
from observatory.store.keys import decode_key
from observatory.store.maintenance.retention import delete_cluster

Rows = Callable[..., list[tuple[Any, ...]]]
SOURCE = "project of the test"


@pytest.fixture(autouse=True)
def _a_new_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = source_limits.SourceLimits(LocMemCache(uuid4().hex, {}))
    monkeypatch.setattr(names, "SOURCE_LIMITS", limits)


def write(
    writer: Writer, cluster: int, now: float, keys: list[str], source: str | None = SOURCE
) -> Committed:
    rows = [(now, key, "waiting", "processing", "", "why") for key in keys]
    batch = Batch.of(cluster, rows={"transition": rows})
    if source is not None:
        batch = Batch(cluster, batch.records, limit=SourceLimit(source))
    return writer.write(batch)


def groups(rows: Rows, cluster: int) -> dict[str, str]:
    """The prefix of each group."""
    return dict(
        rows(
            """SELECT task_group.name, prefix.name FROM task_group
               JOIN prefix ON prefix.id = prefix_id WHERE task_group.cluster_id = %s""",
            cluster,
        )
    )


def keys_of(rows: Rows, cluster: int) -> list[str]:
    found = rows(
        """SELECT key_rest, name FROM transition JOIN task_group ON task_group.id = group_id
           WHERE transition.cluster_id = %s""",
        cluster,
    )
    return sorted(decode_key(rest, group) for rest, group in found)


def test_names_over_a_clusters_limit_are_stored_as_other_with_the_whole_key(
    writer: Writer, rows: Rows, cluster: int, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "MOST_OF_CLUSTER", 3)
    first, more = ["a-1", "b-1"], ["c-1", "d-1", "('e-0123456789abcdef', 7)"]
    assert not write(writer, cluster, now, first).reasons
    committed = write(writer, cluster, now, more)
    # two prefixes and two groups, each with one name left
    assert committed.reasons[0].startswith("4 new names are stored as 'Other'")
    assert groups(rows, cluster) == {"a": "a", "b": "b", "c": "c", "Other": "Other"}
    assert keys_of(rows, cluster) == sorted([*first, *more])
    assert {prefix["name"] for prefix in committed.prefixes} == {"c", "Other"}
    # the same from another writer, which remembers nothing
    KNOWN_CLUSTERS.take(cluster)
    with Writer() as other:
        assert write(other, cluster, now, ["a-2", "d-2", "e-2"]).refused == 0
    assert set(groups(rows, cluster)) == {"a", "b", "c", "Other"}
    assert len(keys_of(rows, cluster)) == 8


def test_a_batch_has_a_limit_of_new_names_and_the_next_stores_more(
    writer: Writer, rows: Rows, cluster: int, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "MOST_OF_BATCH", 4)
    assert "4 new names" in write(writer, cluster, now, ["a-1", "b-1", "c-1", "d-1"]).reasons[0]
    assert not write(writer, cluster, now, ["x-1", "y-1"]).reasons
    assert set(groups(rows, cluster)) == {"Other", "x", "y"}
    assert {name for (name,) in rows("SELECT name FROM prefix WHERE cluster_id = %s", cluster)} == {
        *"abcdxy",
        "Other",
    }


def test_a_source_has_a_limit_of_new_names_an_hour_over_its_clusters_and_others_have_theirs(
    writer: Writer, rows: Rows, cluster: int, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_limits, "MOST_NAMES", 4)
    further = cluster + 500_000_000
    assert not write(writer, cluster, now, ["a-1", "b-1"]).reasons
    assert write(writer, further, now, ["c-1"]).reasons
    assert not write(writer, further, now, ["d-1"], "another project").reasons
    assert set(groups(rows, further)) == {"Other", "d"}
    delete_cluster(further)


def test_an_import_has_no_limit_of_names(
    writer: Writer, rows: Rows, cluster: int, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "MOST_OF_CLUSTER", 1)
    assert not write(writer, cluster, now, ["a-1", "b-1", "c-1"], source=None).reasons
    assert set(groups(rows, cluster)) == set("abc")


def test_what_is_remembered_of_a_cluster_is_about_as_large_as_estimated(
    writer: Writer, cluster: int, now: float, make: Any
) -> None:
    tracemalloc.start()
    try:
        KNOWN_CLUSTERS.take(cluster)
        before, _ = tracemalloc.get_traced_memory()
        for part in range(5):
            workers = [f"tcp://10.0.{part}.{number}:4000" for number in range(40)]
            keys = [f"('{'n' * 200}-{part}-{number:032x}', 1)" for number in range(800)]
            spans = [
                make.span(now, key, worker=workers[number % 40], prefix=key[2:220], group=key[2:240])
                for number, key in enumerate(keys)
            ]
            samples = [
                make.sample(now, metric=f"m{number}", worker=worker, labels=(("type", "x" * 50),))
                for number in range(10)
                for worker in workers
            ]
            writer.write(Batch.of(cluster, spans=spans, samples=samples))
            del spans, samples, keys
        known = KNOWN_CLUSTERS.take(cluster)
        assert known is not None
        size = known.size
        held, _ = tracemalloc.get_traced_memory()
        del known
        freed, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held > before
    assert 0.5 < size / (held - freed) < 2


def test_all_clusters_together_take_at_most_so_many_bytes(
    writer: Writer, rows: Rows, cluster: int, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = KnownClusters(200_000)
    monkeypatch.setattr(writers, "KNOWN_CLUSTERS", few)
    clusters = [cluster + 600_000_000 + number for number in range(12)]
    for number in clusters:
        write(writer, number, now, [f"n{index}-1" for index in range(100)])
        assert 0 < few.size <= 200_000
    assert few.take(clusters[0]) is None, "the one that was written longest ago"
    assert few.take(clusters[-1]) is not None
    # one that alone takes more is read again for each batch
    write(writer, cluster, now, [f"n{index}-1" for index in range(1_000)])
    assert few.take(cluster) is None
    write(writer, cluster, now, [f"n{index}-2" for index in range(1_000)])
    assert len(groups(rows, cluster)) == 1_000
    few.allow(10_000_000)
    write(writer, cluster, now, [f"n{index}-3" for index in range(1_000)])
    assert few.take(cluster) is not None, "a collector remembers more"
    for number in clusters:
        delete_cluster(number)


def test_writers_of_a_process_share_what_they_remember(
    cluster: int, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Writer() as first, Writer() as second:
        write(first, cluster, now, ["a-1"])
        known = KNOWN_CLUSTERS.take(cluster)
        assert known is not None
        KNOWN_CLUSTERS.keep(known)
        monkeypatch.setattr(names.Names, "_read", None)  # nothing has to be read
        write(second, cluster, now, ["a-2"])
        assert KNOWN_CLUSTERS.take(cluster) is known
