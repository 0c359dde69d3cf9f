"""Schedulers that end, hang, return or are replaced."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence

import pytest
from distributed import Client
from django.utils import timezone

from observatory.clusters.end_reasons import MISSED, TARGET_DELETED, TARGET_PAUSED
from observatory.clusters.models import Cluster, Target
from observatory.collect.collector.clusters.registry import cluster_of_agent, end_abandoned, update_from_agent
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.polls import REFUSED_END
from observatory.collect.collector.watcher import Watcher
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.joint_writer import JointWriter
from observatory.store.ingest.publishing.committed import Committed
from observatory.wire.head import Head
from tests.collect.dask_processes import scheduler
from tests.collect.observer import event_kinds, eventually, make_target, observed, read, watching

pytestmark = pytest.mark.usefixtures("store")


async def clusters() -> list[Cluster]:
    return await run_in_django_thread(lambda: list(Cluster.objects.order_by("started")))


async def test_a_new_scheduler_is_a_new_cluster_and_the_old_one_ended_when_it_was_last_seen() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: read("SELECT 1 FROM worker"))
            seen = time.time()
            await next_answer(watcher)
            await next_answer(watcher)
            killed = time.time()
            dask.kill()
            await asyncio.to_thread(dask.start)
            await eventually(lambda: asyncio.sleep(0, watcher.observation and watcher.polls.failures == 0))
            first, second = await eventually(lambda: two(clusters))
            assert first.ended is not None
            assert first.last_seen.timestamp() <= killed + 0.1
            assert seen - 0.1 <= first.ended.timestamp() <= killed + 0.1
            assert first.end_reason == "another scheduler answers at its address"
            assert second.ended is None
            assert second.scheduler_id != first.scheduler_id
            await asyncio.sleep(1)
            assert await event_kinds(second.pk) == []
            await eventually(lambda: ended_kinds(first.pk))
            ends = await read("SELECT end_reason FROM worker WHERE cluster_id = %s", first.pk)
            assert ends == [("cluster-ended",)]


async def next_answer(watcher: Watcher) -> None:
    before = watcher.polls.answered
    await eventually(lambda: asyncio.sleep(0, watcher.polls.answered > before))


async def two(look) -> list[Cluster] | None:
    found = await look()
    return found if len(found) == 2 and found[0].ended else None


async def ended_kinds(cluster: int) -> bool:
    return "cluster-ended" in await event_kinds(cluster)


async def test_a_scheduler_that_refuses_connections_has_ended_when_it_was_last_seen() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url):
            await eventually(clusters)
            await asyncio.sleep(2)
            killed = time.time()
            dask.kill()
            ended = await eventually(lambda: ended_cluster())
            # the collector noticed ten seconds of refused connections later
            assert abs(ended.ended.timestamp() - killed) < REFUSED_END / 2
            assert "gone" in ended.end_reason
            await eventually(lambda: ended_kinds(ended.pk))
            assert "scheduler-unreachable" not in await event_kinds()
            assert "stream-lost" not in await event_kinds()


async def ended_cluster() -> Cluster | None:
    return await run_in_django_thread(Cluster.objects.exclude(ended=None).first)


async def test_the_end_that_an_agent_told_stays_and_the_collector_follows_it_at_once() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            (cluster,) = await eventually(clusters)
            await eventually(lambda: read("SELECT 1 FROM worker"))
            dask.kill()
            until = time.time() + 3
            await run_in_django_thread(update_from_agent, cluster, until, True)
            await eventually(lambda: ended_kinds(cluster.pk))
            assert watcher.observation is None
            messages = await read("SELECT detail ->> 'message' FROM event WHERE kind = 'cluster-ended'")
            assert messages == [("the scheduler closed",)]
            (ended,) = await clusters()
            assert (ended.end_reason, ended.ended) == ("the scheduler closed", cluster.ended)
            assert watcher.tracker.ends[cluster.pk] == {
                "ended": pytest.approx(until),
                "end_reason": "the scheduler closed",
            }


async def test_an_end_that_an_agent_tells_between_two_polls_is_not_replaced_by_the_collectors() -> None:
    with scheduler() as dask:
        async with observed(dask.url) as watcher:
            (cluster,) = await eventually(clusters)
            await eventually(lambda: asyncio.sleep(0, watcher.observation))
            await run_in_django_thread(update_from_agent, cluster, time.time() + 3, True)
            await watcher.tracker.end("the scheduler is gone")
            assert watcher.tracker.ends[cluster.pk]["end_reason"] == "the scheduler closed"
            (ended,) = await clusters()
            assert (ended.end_reason, ended.ended) == ("the scheduler closed", cluster.ended)


async def test_a_scheduler_that_hangs_is_a_gap_and_goes_on_as_the_same_cluster() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url) as watcher:
            await eventually(clusters)
            await asyncio.sleep(2)
            # a busy machine isn't asked as often, and a gap begins with the last answer
            await next_answer(watcher)
            dask.process.send_signal(signal.SIGSTOP)
            stopped = time.time()
            await eventually(lambda: has_event("scheduler-unreachable"))
            dask.process.send_signal(signal.SIGCONT)
            await eventually(lambda: has_event("scheduler-reachable"))
            assert not await has_event("stream-lost")
            (gap,) = await read(
                "SELECT extract(epoch FROM time)::float8 FROM event WHERE kind = 'scheduler-unreachable'"
            )
            assert abs(gap[0] - stopped) < 1.5
            samples = await read(
                """SELECT metric FROM sample JOIN series ON series.id = series_id
                   WHERE worker_id IS NULL AND time > to_timestamp(%s) AND time < to_timestamp(%s)""",
                gap[0] + 1,
                gap[0] + 3,
            )
            assert samples == []
            (cluster,) = await clusters()
            assert cluster.ended is None


async def has_event(kind: str) -> bool:
    return kind in await event_kinds()


async def test_an_ended_cluster_is_reopened_when_its_scheduler_answers() -> None:
    with scheduler() as dask:
        async with observed(dask.url):
            await eventually(clusters)
        (cluster,) = await clusters()
        await run_in_django_thread(lambda: Cluster.objects.update(ended=cluster.started, end_reason="gone"))
        target = await run_in_django_thread(lambda: Cluster.objects.get().target)
        async with watching(target):
            await eventually(lambda: has_event("scheduler-reachable"))
            (again,) = await clusters()
            assert again.pk == cluster.pk
            assert again.ended is None
            assert again.end_reason == ""


async def test_a_cluster_that_an_earlier_collector_left_open_ends_when_nobody_answers() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url):
            await eventually(lambda: read("SELECT 1 FROM worker"))
            await asyncio.sleep(1.5)
        dask.kill()
        (cluster,) = await clusters()
        assert cluster.ended is None
        async with watching(await run_in_django_thread(lambda: Cluster.objects.get().target)):
            ended = await eventually(ended_cluster)
            assert ended.ended == ended.last_seen
            assert ended.end_reason == MISSED, "it may have been closed meanwhile"
            await eventually(lambda: read("SELECT 1 FROM worker WHERE end_reason = 'cluster-ended'"))


@pytest.mark.parametrize("reason", [TARGET_PAUSED, TARGET_DELETED])
def test_a_cluster_whose_target_is_paused_or_deleted_is_no_longer_observed(reason: str) -> None:
    target = make_target("http://127.0.0.1:1")
    moment = timezone.now()
    Cluster.objects.create(
        project=target.project, target=target, scheduler_id="s", name="c", started=moment, last_seen=moment
    )
    end_abandoned()
    assert Cluster.objects.get().ended is None
    if reason == TARGET_PAUSED:
        target.enabled = False
        target.save()
    else:
        target.delete()
    end_abandoned()
    cluster = Cluster.objects.get()
    assert (cluster.ended, cluster.end_reason) == (moment, reason)


async def test_a_target_that_shows_another_scheduler_ends_no_cluster_whose_agent_reports() -> None:
    def reported() -> Target:
        target, moment = make_target(dask.url), timezone.now()
        Cluster.objects.create(
            project=target.project,
            target=target,
            scheduler_id="of the address before",
            name="etl",
            started=moment,
            last_seen=moment,
            agent_heard=moment,
        )
        return target

    with scheduler() as dask:
        async with watching(await run_in_django_thread(reported)) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.observation))
        assert [cluster.ended for cluster in await clusters()] == [None, None]


def test_a_cluster_whose_end_cannot_be_stored_keeps_no_other_from_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project, moment = make_target("http://127.0.0.1:1").project, timezone.now()
    for name in ("one", "another"):
        Cluster.objects.create(
            project=project, scheduler_id=name, name=name, started=moment, last_seen=moment
        )
    write = JointWriter.write_together

    def refuse_first(writer: JointWriter, batches: Sequence[Batch]) -> list[Committed | Exception]:
        return [OSError("the disk is full"), *write(writer, batches[1:])]

    monkeypatch.setattr(JointWriter, "write_together", refuse_first)
    with pytest.raises(OSError, match="the disk is full"):
        end_abandoned()
    assert [cluster.ended for cluster in Cluster.objects.exclude(ended=None)] == [moment]


def test_a_cluster_whose_agents_first_batch_is_being_stored_is_not_ended_as_abandoned() -> None:
    project = make_target("http://127.0.0.1:1").project
    moment = time.time()
    head = Head("agent", 1, "Scheduler-1", "etl", "tcp://127.0.0.1:8786", moment, moment, moment)
    cluster, _ = cluster_of_agent(project, head)
    end_abandoned()
    cluster.refresh_from_db()
    assert cluster.ended is None


async def test_a_time_without_a_collector_is_recorded_as_a_gap_from_the_last_stored_second() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url):
            await eventually(lambda: read("SELECT 1 FROM worker"))
            await asyncio.sleep(1.5)
        (before,) = await read("SELECT extract(epoch FROM committed)::float8 FROM extent")
        await asyncio.sleep(4)
        resumed = time.time()
        async with watching(await run_in_django_thread(lambda: Cluster.objects.get().target)):
            (first, last) = await eventually(unobserved)
            assert first == pytest.approx(before[0], abs=1e-3)
            assert last > resumed - 0.5
            stored = "SELECT 1 FROM sample WHERE time > to_timestamp(%s) AND time < to_timestamp(%s)"
            assert await read(stored, first + 1, resumed - 0.5) == []


async def test_tasks_of_a_time_without_a_collector_are_counted_when_it_is_observed_again() -> None:
    def work(client: Client) -> None:
        client.gather(client.map(lambda x: x + 1, range(20), key="inc"))
        client.gather(client.map(lambda x: 1 / 0, range(3), key="fail"), errors="skip")

    with scheduler(workers=1) as dask, dask.client() as client:
        async with observed(dask.url):
            await eventually(lambda: read("SELECT 1 FROM worker"))
        await asyncio.to_thread(work, client)
        target = await run_in_django_thread(lambda: Cluster.objects.get().target)
        async with watching(target):
            await eventually(lambda: read("SELECT 1 FROM extent WHERE errors = 3"))
            await eventually(lambda: run_in_django_thread(progress_is, {"inc": (20, 0), "fail": (0, 3)}))
            assert await read("SELECT 1 FROM span") == []


def progress_is(expected: dict[str, tuple[int, int]]) -> bool:
    """Whether the page shows so many tasks of each prefix as done and as erred."""
    with connect() as connection:
        state = state_at(connection, Scope(Cluster.objects.get()), round(time.time() * 1e6))
    return {row["name"]: (row["done"], row["erred"]) for row in state["progress"]} == expected


async def unobserved() -> tuple[float, float] | None:
    found = await read(
        """SELECT (detail->>'first')::float8, (detail->>'last')::float8,
                  abs(extract(epoch FROM time) - (detail->>'first')::float8) < 0.001
           FROM event WHERE kind = 'not-observed'"""
    )
    assert all(is_at_its_beginning for *_, is_at_its_beginning in found)
    return found[0][:2] if found else None


async def test_a_collector_that_takes_over_at_once_records_no_gap() -> None:
    with scheduler(workers=1) as dask:
        async with observed(dask.url):
            await eventually(lambda: read("SELECT 1 FROM worker"))
        target = await run_in_django_thread(lambda: Cluster.objects.get().target)
        async with watching(target) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.subscriber.state == "receiving"))
            await eventually(lambda: read("SELECT 1 FROM sample WHERE time > now() - interval '1 second'"))
            assert await unobserved() is None
