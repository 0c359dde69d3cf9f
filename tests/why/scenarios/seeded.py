"""Scenarios with one known cause each, of which half were not used to build the detectors."""

from __future__ import annotations

import os
import signal
import tempfile
import time

import dask
from distributed import Client, wait

from tests.why.scenarios.scenario import seeded
from tests.why.scenarios.tasks import (
    SlowTransitions,
    add,
    block_event_loop,
    block_event_loop_often,
    block_scheduler_often,
    die,
    die_first,
    fail,
    fail_first,
    hold_gil,
    hold_memory,
    leak,
    loop,
    make,
    poll,
    refuse_first,
    request,
    sleep,
    sleep_for_each,
    sleep_longer_on,
)

MIB = 1 << 20


@seeded("stragglers")
def one_slow_task(client: Client, has_cause: bool) -> None:
    wait(client.map(sleep, [0.5] * 39 + [8.0 if has_cause else 0.5], pure=False))


@seeded("stragglers", is_judged=True)
def one_skewed_partition(client: Client, has_cause: bool) -> None:
    """A partition has twelve times as many rows as the others; or all rows are in equal parts."""
    counts = [24 if place == 5 else 2 for place in range(24)] if has_cause else [3] * 22 + [2] * 2
    rows = [list(range(count)) for count in counts]
    parts = [dask.delayed(sleep_for_each)(part, 0.3) for part in rows]
    client.compute(dask.delayed(add)(*parts)).result(120)


@seeded("small-tasks")
def thousands_of_short_tasks(client: Client, has_cause: bool) -> None:
    count = 4_000 if has_cause else 40
    wait(client.map(sleep_for_each, [[1]] * count, seconds=4 / count, pure=False))


@seeded("small-tasks", is_judged=True)
def short_steps_one_after_another(client: Client, has_cause: bool) -> None:
    count = 1_200 if has_cause else 12
    read = client.map(sleep, [1.2 / count] * count, key="read", pure=False)
    clean = client.map(sleep, [1.2 / count] * count, read, key="clean", pure=False)
    wait(client.map(sleep, [1.2 / count] * count, clean, key="store", pure=False))


@seeded("small-tasks")
def tree_of_short_tasks(client: Client, has_cause: bool) -> None:
    level = [dask.delayed(add)(number) for number in range(3_000 if has_cause else 60)]
    while len(level) > 1:
        level = [dask.delayed(add)(*level[at : at + 2]) for at in range(0, len(level), 2)]
    client.compute(level[0], optimize_graph=False).result(120)


@seeded("few-tasks")
def two_large_tasks(client: Client, has_cause: bool) -> None:
    wait(client.map(sleep, [8.0] * 2 if has_cause else [2.0] * 8, pure=False))


@seeded("few-tasks", is_judged=True)
def chain(client: Client, has_cause: bool) -> None:
    done = dask.delayed(sleep)(0.5)
    steps = [done]
    for _ in range(15):
        done = dask.delayed(sleep)(0.5, *([done] if has_cause else []))
        steps.append(done)
    client.compute(dask.delayed(add)(*steps), optimize_graph=False).result(120)


@seeded("gil", n_workers=1, threads_per_worker=4)
def library_that_holds_the_lock(client: Client, has_cause: bool) -> None:
    wait(client.map(hold_gil if has_cause else sleep, [0.5] * 24, pure=False))


@seeded("gil", is_judged=True, n_workers=1, threads_per_worker=4)
def loops_in_python(client: Client, has_cause: bool) -> None:
    """A tenth of a second is about what a loop takes that has Python's lock for itself."""
    if has_cause:
        wait(client.map(loop, [5_000_000] * 24, pure=False))
    else:
        began = time.monotonic()
        loop(5_000_000)
        wait(client.map(sleep, [time.monotonic() - began] * 24, pure=False))


@seeded("event-loops")
def blocked_event_loops(client: Client, has_cause: bool) -> None:
    blocking = [client.submit(block_event_loop, 4.0, workers=[worker]) for worker in _workers(client)]
    wait(blocking if has_cause else client.map(sleep, [0.0] * 2, key="first"))
    wait(client.map(sleep, [0.2] * 60, pure=False))


@seeded("event-loops")
def one_event_loop_blocked_often(client: Client, has_cause: bool) -> None:
    """Of a worker that alone can run some of the tasks."""
    worker = min(_workers(client))
    if has_cause:
        wait(client.submit(block_event_loop_often, 1.5, 6, 2.0, workers=[worker]))
    wait(client.map(sleep, [0.2] * 40, workers=[worker], pure=False))


@seeded("event-loops", is_judged=True)
def coroutines_that_block(client: Client, has_cause: bool) -> None:
    """Dask runs them in the event loop, where they wait without giving way to others."""
    requests = [client.submit(request, 1.0, number, has_cause) for number in range(12)]
    wait([*requests, *client.map(sleep, [0.2] * 60, pure=False)])


@seeded("scheduler-busy")
def blocked_scheduler(client: Client, has_cause: bool) -> None:
    tasks = client.map(sleep, [0.2] * 60, pure=False)
    if has_cause:
        client.run_on_scheduler(time.sleep, 4)
    wait(tasks)


@seeded("scheduler-busy", is_judged=True)
def slow_callback_of_the_scheduler(client: Client, has_cause: bool) -> None:
    if has_cause:
        client.run_on_scheduler(block_scheduler_often, 0.5, 0.6)
    wait(client.map(sleep, [0.2] * 80, pure=False))


@seeded("scheduler-busy")
def slow_plugin_of_the_scheduler(client: Client, has_cause: bool) -> None:
    if has_cause:
        client.register_plugin(SlowTransitions(0.15), name="slow-transitions")
    wait(client.map(sleep, [0.3] * 60, pure=False))


@seeded("worker-died")
def killed_worker(client: Client, has_cause: bool) -> None:
    """Its results have to be computed again, and what it ran."""
    made = client.map(sleep, [0.5] * 16, pure=False)
    wait(made)
    held = client.map(sleep, [4.0] * 4, key="hold", pure=False)
    time.sleep(3)
    if has_cause:
        processes = client.run(os.getpid)
        os.kill(processes[min(processes)], signal.SIGKILL)
    wait([*made, *held], timeout=120)


@seeded("worker-died", is_judged=True)
def task_that_ends_its_worker_once(client: Client, has_cause: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "died")
        if not has_cause:
            open(path, "w").close()
        tasks = client.map(sleep, [0.5] * 24, pure=False)
        wait([*tasks, client.submit(die_first, path, 3.0, pure=False)], timeout=120)


@seeded("failure", has_cost=False)
def task_that_kills_each_worker(client: Client, has_cause: bool) -> None:
    tasks = client.map(sleep, [0.2] * 10, pure=False)
    guilty = client.submit(die, key="guilty-1") if has_cause else client.submit(sleep, 0.2)
    client.gather([*tasks, guilty])


@seeded("failure", is_judged=True, has_cost=False)
def exception_in_one_of_many(client: Client, has_cause: bool) -> None:
    parts = [dask.delayed(sleep)(0.3) for _ in range(20)]
    last = dask.delayed(fail)(7) if has_cause else dask.delayed(sleep)(0.3)
    client.compute(dask.delayed(add)(*parts, last)).result(120)


@seeded("retries")
def attempts_that_fail(client: Client, has_cause: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        times = [2 if has_cause else 0] * 24
        parts = ([0.5] * 24, times, [folder] * 24, range(24))
        wait(client.map(fail_first, *parts, retries=5, pure=False))


@seeded("retries", is_judged=True)
def one_service_that_is_down_at_first(client: Client, has_cause: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        others = client.map(sleep, [0.5] * 24, pure=False)
        asked = [
            client.submit(
                fail_first, 0.5, 4 if has_cause else 0, folder, number, retries=5, key=f"ask-{number}"
            )
            for number in range(6)
        ]
        wait([*others, *asked])


@seeded("retries")
def calls_that_lose_their_patience(client: Client, has_cause: bool) -> None:
    """Nine of 60 tasks wait in vain before they ask to be sent elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        times = [int(has_cause and place % 7 == 3) for place in range(60)]
        parts = (range(60), [0.4] * 60, [1.5] * 60, [folder] * 60, times)
        wait(client.map(refuse_first, *parts, pure=False))


@seeded("retries", is_judged=True)
def tasks_that_poll(client: Client, has_cause: bool) -> None:
    """Two that need a file keep being sent again until it is there, beside tasks that could run."""
    there = time.time() + (4.0 if has_cause else 0.0)
    waiting = [
        client.submit(poll, number, 0.4, there, key=f"poll-{number}", priority=1) for number in range(2)
    ]
    wait([*waiting, *client.map(sleep, [0.4] * 60, pure=False)])


@seeded("transfers")
def data_on_the_other_worker(client: Client, has_cause: bool) -> None:
    one, other = _workers(client)
    made = client.map(make, [0.1] * 16, [0.4] * 16, workers=[one], pure=False)
    wait(made)
    users = other if has_cause else one
    uses = [client.submit(sleep, 0.2, result, workers=[users], pure=False) for result in made]
    wait(uses)


@seeded("transfers", is_judged=True)
def all_to_all(client: Client, has_cause: bool) -> None:
    made = [dask.delayed(make)(0.3, 0.3 if has_cause else 0.0) for _ in range(12)]
    uses = [dask.delayed(sleep)(0.3, *made[place % 3 :: 3]) for place in range(12)]
    client.compute(dask.delayed(add)(*uses), optimize_graph=False).result(120)


@seeded("memory-full", memory_limit="1GB")
def results_that_spill(client: Client, has_cause: bool) -> None:
    """Results of 100 MB, as far as Dask knows, that take a while to be written and read again."""
    made = client.map(make, [0.1] * 32, [0.2] * 32, [(100 if has_cause else 1) * MIB] * 32, pure=False)
    wait(made)
    wait([client.submit(sleep, 0.1, result, pure=False) for result in made])


@seeded("memory-full", is_judged=True, memory_limit="700MB")
def paused_worker(client: Client, has_cause: bool) -> None:
    nbytes = (420 if has_cause else 1) * MIB
    held = client.submit(hold_memory, nbytes, 10.0, workers=[min(_workers(client))], priority=1)
    wait([held, *client.map(sleep, [0.25] * 160, pure=False)], timeout=120)


@seeded("growing-memory", has_cost=False, memory_limit="1GB")
def leak_in_each_task(client: Client, has_cause: bool) -> None:
    wait(client.map(leak, [(7 * MIB // 4 if has_cause else 0)] * 500, seconds=0.6, pure=False))


@seeded("growing-memory", is_judged=True, has_cost=False, memory_limit="1GB")
def leak_of_one_prefix(client: Client, has_cause: bool) -> None:
    tasks = []
    for _ in range(250):
        tasks.append(client.submit(leak, 7 * MIB // 2 if has_cause else 0, 0.6, pure=False))
        tasks.append(client.submit(sleep, 0.6, pure=False))
    wait(tasks)


@seeded("slow-worker", n_workers=4)
def one_slow_worker(client: Client, has_cause: bool) -> None:
    names = (3,) if has_cause else ()
    wait(client.map(sleep_longer_on, [names] * 80, seconds=0.4, factor=4.0, pure=False))


@seeded("slow-worker", is_judged=True, n_workers=4, threads_per_worker=1)
def one_slow_worker_in_two_stages(client: Client, has_cause: bool) -> None:
    names = (0,) if has_cause else ()
    read = client.map(sleep_longer_on, [names] * 32, seconds=0.4, factor=3.0, key="read", pure=False)
    wait(read)
    wait(client.map(sleep_longer_on, [names] * 32, seconds=0.3, factor=3.0, key="fit", pure=False))


@seeded("recomputed")
def computed_twice(client: Client, has_cause: bool) -> None:
    loads = [dask.delayed(sleep)(0.5, dask_key_name=f"load-{place}") for place in range(24)]
    total, count = dask.delayed(add)(*loads), dask.delayed(len)(loads)
    if has_cause:
        for each in (total, count):
            client.compute(each).result(120)
    else:
        client.gather(client.compute([total, count]))


@seeded("recomputed", is_judged=True)
def rounds_without_persist(client: Client, has_cause: bool) -> None:
    """Each round needs the same features, which are made anew, or kept by the cluster."""
    features = [dask.delayed(sleep)(0.5, dask_key_name=f"features-{place}") for place in range(20)]
    if not has_cause:
        features = client.persist(features)
    for _ in range(3):
        scores = [dask.delayed(sleep)(0.1, part) for part in features]
        client.compute(dask.delayed(add)(*scores), optimize_graph=False).result(120)


@seeded("adaptive", is_judged=True, has_cost=False, n_workers=1)
def adaptive_that_flaps(client: Client, has_cause: bool) -> None:
    assert client.cluster is not None
    if has_cause:
        client.cluster.adapt(minimum=1, maximum=4, interval="0.5s", wait_count=1, target_duration="1s")
    for _ in range(4):
        wait(client.map(sleep, [0.5] * 24, pure=False))
        time.sleep(4)


def _workers(client: Client) -> list[str]:
    return sorted(client.scheduler_info(n_workers=-1)["workers"])
