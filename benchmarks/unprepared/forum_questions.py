"""Small workloads in the shapes of questions that people ask in forums when their Dask is slow.

Written by somebody who had seen neither the detectors nor any finding. Before their digests were committed
they had run without Observatory, to see how long they take with their causes and without them. One half of
them is judged, the detectors are mended, and then the other half is judged once.
"""

from __future__ import annotations

import tempfile
import time

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, Semaphore, wait

from benchmarks.unprepared.dividing import half_of
from benchmarks.unprepared.forum_question_tasks import (
    Shard,
    currents,
    depths,
    month,
    part,
    place,
    recognise,
    solved,
    squared,
    stored,
    tile_server,
    trained,
    visit,
    with_slow_numbers,
    worked_on,
)
from benchmarks.unprepared.workload import WORKLOADS, Workload, unprepared

BEFORE = frozenset(WORKLOADS)
TWO_BY_THREE = {"n_workers": 2, "threads_per_worker": 3}
THREE_BY_TWO = {"n_workers": 3, "threads_per_worker": 2}
FOUR = {"n_workers": 4, "threads_per_worker": 1}
MONTH = pd.DataFrame({"station": np.arange(0), "value": np.arange(0.0), "age": np.arange(0.0)})
CELLS, CELLS_OF_THE_SEA, TILES = 100, 8, 36
PLACES = 120_000


@unprepared("adaptive|late-workers", n_workers=1, threads_per_worker=1, without={"n_workers": 6})
def long_simulations_that_an_adaptive_cluster_takes_for_short(client: Client, has_cause: bool) -> None:
    """Until one of them has ended Dask expects half a second of each; they take three (distributed#3627).

    18 tasks. The cluster asks for one further worker at first, and for all six seconds later.
    """
    if has_cause:
        client.cluster.adapt(minimum=1, maximum=6)
    client.compute(dask.delayed(sum)([dask.delayed(part)(number, 3.0) for number in range(18)])).result()


@unprepared("serialized|waiting-outside", **THREE_BY_TWO)
def visits_of_users_whom_one_of_four_actors_has(client: Client, has_cause: bool) -> None:
    """Users are divided among actors by their number, and all numbers are divisible by four (dask-ml#171)."""
    shards = [client.submit(Shard, actor=True, pure=False).result() for _ in range(4)]
    step = 4 if has_cause else 1
    users = [number * step for number in range(60)]
    wait(client.map(visit, range(60), users, seconds=0.4, shards=shards, pure=False))


@unprepared("narrow-stage|few-tasks|serialized", **THREE_BY_TWO)
def table_in_a_single_csv_file(client: Client, has_cause: bool) -> None:
    """`to_csv(single_file=True)` writes one partition after another, while six threads could."""
    table = dd.from_map(month, range(24), seconds=0.9, meta=MONTH).value.to_frame()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/months.csv" if has_cause else f"{folder}/month-*.csv"
        table.to_csv(path, single_file=has_cause, float_format=with_slow_numbers)


@unprepared("event-loops", **THREE_BY_TWO)
def coroutines_that_call_a_blocking_library(client: Client, has_cause: bool) -> None:
    """96 tasks are coroutines: these have the event loop of their worker, unless they use a thread."""
    wait(client.map(recognise, range(96), seconds=0.3, is_blocking=has_cause, pure=False))


@unprepared("recomputed", **THREE_BY_TWO)
def table_read_for_the_lengths_of_its_arrays(client: Client, has_cause: bool) -> None:
    """`to_dask_array(lengths=True)` reads all that is not persisted, for each of two arrays."""
    table = dd.from_map(month, range(24), seconds=0.8, meta=MONTH)
    if not has_cause:
        table = client.persist(table)
    rows = table[["value", "age"]].to_dask_array(lengths=True)
    wanted = table["value"].to_dask_array(lengths=True)
    error = (rows.map_blocks(squared, seconds=0.3, meta=np.empty((0, 0))).sum(axis=1) - wanted).sum()
    client.compute(error).result()


@unprepared("large-graph|client|transfers", **TWO_BY_THREE)
def stations_named_by_a_large_dictionary(client: Client, has_cause: bool) -> None:
    """A table is mapped by a dictionary of 120,000 names, for each of three questions.

    It is hashed, and becomes a part of the graph; the workers of the twin have the names.
    """
    table = dd.from_pandas(pd.DataFrame({"station": np.arange(2400)}), npartitions=24)
    table = table.map_partitions(worked_on, 0.4, meta=table._meta)
    names = {number: f"place {number}" for number in range(PLACES)} if has_cause else {}
    for least in range(3):
        asked = table.station[table.station >= least]
        if has_cause:
            named = asked.map(names, meta=("station", object))
        else:
            named = asked.map_partitions(place, 0.0, meta=("station", object))
        client.compute(named.count()).result()


@unprepared("first-use", "client", **FOUR)
def engines_that_start_late_and_a_client_that_writes(client: Client, has_cause: bool) -> None:
    """An engine starts at the first task of each worker (dask#4570); the client writes after each batch."""
    starting = 2.5 if has_cause else 0.0
    for _ in range(5):
        batch = db.from_sequence(range(160), npartitions=16)
        client.compute(batch.map_partitions(solved, starting=starting, seconds=0.3).sum()).result()
        time.sleep(0.9 if has_cause else 0.0)


@unprepared("waiting-outside", "stragglers|narrow-stage", **THREE_BY_TWO)
def sea_on_tiles_of_a_server_that_limits_its_rate(client: Client, has_cause: bool) -> None:
    """Five tiles a second, each of them asked for until the server gives it; most sea is on one tile.

    Dask begins this one, the first, after all others. The twin's server has no limit, and its sea is spread.
    """
    sea = np.zeros(TILES * CELLS)
    if has_cause:
        for tile in range(1, TILES):
            sea[tile * CELLS : tile * CELLS + CELLS_OF_THE_SEA] = 1.0
        sea[:CELLS] = 1.0
    else:
        sea[:: TILES * CELLS // ((TILES - 1) * CELLS_OF_THE_SEA + CELLS)] = 1.0
    known = {"meta": np.empty(0)}
    with tile_server(5.0 if has_cause else None) as url:
        tiles = da.from_array(sea, chunks=CELLS).map_blocks(depths, url=url, **known)
        wait(client.persist(tiles[tiles > 0].map_blocks(currents, seconds_a_cell=0.06, **known)))


@unprepared(**FOUR)
def search_whose_rounds_keep_all_threads(client: Client, has_cause: bool) -> None:
    """32 models are trained, and the better half of them for twice as long, until four are left."""
    models, seconds = list(range(32)), 0.25
    while len(models) >= 4:
        scores = client.gather(client.map(trained, models, seconds=seconds, pure=False))
        best = sorted(zip(scores, models, strict=True), reverse=True)
        models, seconds = [model for _, model in best[: len(best) // 2]], seconds * 2


@unprepared(**THREE_BY_TWO)
def readings_stored_with_leases_for_all(client: Client, has_cause: bool) -> None:
    """A semaphore has as many leases as there are threads."""
    leases = Semaphore(max_leases=6, name="store")
    readings = db.from_sequence(range(72), npartitions=72)
    client.compute(readings.map(stored, seconds=0.5, leases=leases)).result()


FORUM_QUESTIONS: list[Workload] = [WORKLOADS.pop(name) for name in list(WORKLOADS) if name not in BEFORE]
"""They belong to no half of the first ones."""


def forum_questions_half(number: int) -> list[Workload]:
    return half_of(FORUM_QUESTIONS, number)
