from __future__ import annotations

import asyncio
import logging
import math
from typing import Any

import numpy as np
import pytest
from channels.layers import get_channel_layer
from django.test import override_settings

from observatory.base.redis_server import RedisServer
from observatory.store.blocks.live_frames import FRAME_BYTES, group_of
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.batches.record_columns import Coded
from observatory.store.ingest.publishing import publication
from observatory.store.ingest.publishing.committed import LiveSamples
from observatory.store.ingest.publishing.publication import LOST, frames, publish, publish_sync, rates
from observatory.store.ingest.writer import Writer
from observatory.store.series.sample_intervals import SampleIntervals
from observatory.wire.blocks import Block, decode
from observatory.wire.records import Event, MetricType

MEMORY = "observatory_worker_memory_bytes"
GIL = "dask_worker_gil_contention_seconds_total"
ENDED = {"ended": None, "end_reason": "", "stream": "receiving"}


def _blocks(data: list[bytes]) -> list[Block]:
    return [block for frame in data for block in decode(frame)]


def test_what_the_sender_of_a_frame_does_not_know_of_the_cluster_is_left_out_and_stays_on_open_pages(
    writer: Writer, cluster: int, now: float, make: Any
) -> None:
    committed = writer.write(Batch.of(cluster, spans=[make.span(now)], committed=now + 1))
    *_, extent = _blocks(list(frames(committed, {"stream": "agent"}, SampleIntervals())))
    assert extent.meta["stream"] == "agent"
    assert not {"ended", "end_reason"} & set(extent.meta), "None would say that an ended cluster goes on"


def test_a_frame_names_things_before_it_uses_them_and_ends_with_the_extent(
    writer: Writer, cluster: int, now: float, make: Any
) -> None:
    batch = Batch.of(
        cluster,
        workers=[make.worker(now)],
        spans=[make.span(now)],
        samples=[make.sample(now, 5.0, MEMORY, worker=make.address, labels=(("type", "managed"),))],
        events=[Event(now, "worker-added", make.address, {"message": "w0 joined"})],
        committed=now + 1,
        errors=1,
    )
    committed = writer.write(batch)
    blocks = _blocks(list(frames(committed, ENDED, SampleIntervals(identity=2.0))))
    assert [block.kind for block in blocks] == [
        "worker",
        "lane",
        "prefix",
        "series",
        "span",
        "bin",
        "event",
        "extent",
    ]
    worker, lane, prefix, series, span, bin, event, extent = blocks
    (named,) = worker.meta["items"]
    assert (named["address"], named["nthreads"], named["ended"]) == (make.address, 2, None)
    assert lane.meta["items"][0] == {
        "id": span.list("lane")[0],
        "worker": named["id"],
        "thread": 140_001,
        "position": 0,
    }
    assert prefix.meta["items"][0]["id"] == span.list("prefix")[0]
    assert series.meta["items"] == [
        {
            "id": bin.list("series")[0],
            "worker": named["id"],
            "metric": MEMORY,
            "labels": {"type": "managed"},
            "interval": SampleIntervals(identity=2.0).of(MEMORY),
        }
    ]
    assert (span.list("start"), span.list("stop"), span.list("nbytes")) == ([now], [now + 0.5], [28.0])
    assert (span.list("key"), span.list("typename")) == (["('inc-0a1b', 0)"], ["int"])
    assert (span.list("action"), span.list("status")) == ([0], [0])
    assert bin.meta == {"layer": "memory"}
    assert [bin.list(name) for name in ("time", "min", "max", "mean", "last", "count")] == [
        [now],
        [5.0],
        [5.0],
        [5.0],
        [5.0],
        [1],
    ]
    assert (event.list("kind"), event.list("worker"), event.list("message")) == (
        ["worker-added"],
        [named["id"]],
        ["w0 joined"],
    )
    assert extent.meta == {
        "committed": now + 1,
        "first": now,
        "last": now + 0.5,
        "version": 1,
        "sequence": 1,
        "task_count": 1,
        "error_count": 1,
        "worker_count": 1,
        **ENDED,
    }


def test_what_is_known_is_not_named_again(writer: Writer, cluster: int, now: float, make: Any) -> None:
    for second in range(2):
        committed = writer.write(Batch.of(cluster, spans=[make.span(now + second)]))
    assert [block.kind for block in _blocks(list(frames(committed, ENDED, SampleIntervals())))] == [
        "span",
        "extent",
    ]


def test_only_metrics_that_a_layer_draws_are_sent(
    writer: Writer, cluster: int, now: float, make: Any
) -> None:
    committed = writer.write(Batch.of(cluster, samples=[make.sample(now, 1.0, "python_info")]))
    assert [block.kind for block in _blocks(list(frames(committed, ENDED, SampleIntervals())))] == ["extent"]


def test_a_counter_is_sent_as_a_rate(writer: Writer, cluster: int, now: float, make: Any) -> None:
    def gil(time: float, value: float) -> Any:
        return make.sample(time, value, GIL, worker=make.address, type=MetricType.COUNTER)

    sent: list[float] = []
    for time, value in ((0, 10.0), (5, 11.0), (10, 13.5), (15, 0.5), (40, 9.0), (45, 9.0)):
        committed = writer.write(Batch.of(cluster, samples=[gil(now + time, value)]))
        blocks = _blocks(list(frames(committed, ENDED, SampleIntervals(metrics=5.0))))
        sent += [value for block in blocks if block.kind == "bin" for value in block.list("last")]
    # none for the first; 0.5 after a reset; none over the gap of 25 s
    assert sent == [0.2, 0.5, 0.1, 0.0]


@pytest.mark.parametrize(
    ("elapsed", "grown", "expected"),
    [(5.0, 1.0, 0.2), (0.0, 1.0, None), (-1.0, 1.0, None), (15.1, 1.0, None)],
)
def test_a_rate_is_known_over_a_usual_interval_only(
    elapsed: float, grown: float, expected: float | None
) -> None:
    sample = LiveSamples(
        series=np.array([1]),
        first=np.array([1]),
        band=np.array([0]),
        metric=Coded.of([GIL]),
        layer=Coded.of(["gil"]),
        counter=np.array([True]),
        time=np.array([100.0 + elapsed]),
        value=np.array([7.0 + grown]),
        previous_time=np.array([100.0]),
        previous_value=np.array([7.0]),
    )
    [rate] = rates(sample, SampleIntervals(metrics=5.0)).tolist()
    assert (None if math.isnan(rate) else rate) == expected


def test_what_many_workers_tell_is_sent_in_bands_and_all_together(
    writer: Writer, cluster: int, now: float, make: Any
) -> None:
    addresses = [f"tcp://10.0.0.1:{number}" for number in range(1, 131)]
    memory = "observatory_worker_memory_bytes"
    committed = writer.write(
        Batch.of(
            cluster,
            spans=[make.span(now, worker=address) for address in addresses],
            samples=[
                make.sample(now + number / 1e3, float(number), memory, worker=address)
                for number, address in enumerate(addresses)
            ],
        )
    )
    blocks = _blocks(list(frames(committed, ENDED, SampleIntervals())))
    spans = {block.meta["layer"]: block.rows for block in blocks if block.kind == "span"}
    assert spans == {"spans": 64, "spans.1": 64, "spans.2": 2}
    bins = {block.meta["layer"]: block for block in blocks if block.kind == "bin"}
    assert {layer: block.rows for layer, block in bins.items()} == {
        "memory": 64,
        "memory.1": 64,
        "memory.2": 2,
        "memory.all": 1,
    }
    together = bins["memory.all"]
    assert together.list("series") == [min(min(block.list("series")) for block in bins.values())]
    assert [together.list(name) for name in ("min", "mean", "max", "count")] == [[0], [64.5], [129], [130]]
    later = writer.write(Batch.of(cluster, samples=[make.sample(now + 1, 7.0, memory, worker=addresses[-1])]))
    [again] = [
        block
        for block in _blocks(list(frames(later, ENDED, SampleIntervals())))
        if block.kind == "bin" and block.meta["layer"] == "memory.all"
    ]
    assert again.list("series") == together.list("series")


def test_a_large_batch_is_sent_in_frames_of_bounded_size(
    writer: Writer, cluster: int, now: float, make: Any
) -> None:
    spans = [
        make.span(now + index / 1e4, key=f"('inc-0a1b', {index}, '{'x' * 80}')") for index in range(20_000)
    ]
    committed = writer.write(Batch.of(cluster, spans=spans, committed=now + 5))
    sent = list(frames(committed, ENDED, SampleIntervals()))
    assert len(sent) > 1
    assert max(map(len, sent)) < 1.5 * FRAME_BYTES
    kinds = [block.kind for block in _blocks(sent)]
    assert kinds[-1] == "extent"
    assert kinds.count("extent") == 1
    keys = [key for block in _blocks(sent) if block.kind == "span" for key in block.list("key")]
    assert keys == [span.key for span in spans]


async def _received(cluster: int, send: Any) -> bytes:
    layer = get_channel_layer()
    assert layer is not None
    channel = await layer.new_channel()
    await layer.group_add(group_of(cluster), channel)
    await send()
    message = await asyncio.wait_for(layer.receive(channel), 60)
    assert message["type"] == "live.frame"
    return bytes(message["data"])


def test_an_open_page_gets_the_frame_by_way_of_channels(
    writer: Writer, cluster: int, now: float, make: Any
) -> None:
    committed = writer.write(Batch.of(cluster, spans=[make.span(now)]))
    data = asyncio.run(_received(cluster, lambda: publish(committed, ENDED)))
    assert [block.kind for block in decode(data)] == ["worker", "lane", "prefix", "span", "extent"]


def test_a_thread_without_a_loop_can_publish(writer: Writer, cluster: int, now: float, make: Any) -> None:
    committed = writer.write(Batch.of(cluster, spans=[make.span(now)]))
    data = asyncio.run(_received(cluster, lambda: asyncio.to_thread(publish_sync, committed, ENDED)))
    assert list(decode(data))[-1].kind == "extent"


def test_a_store_without_valkey_goes_on_and_says_so_once(
    writer: Writer, cluster: int, now: float, make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    nobody = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": ["unix:///nowhere/valkey.sock"]},
        }
    }
    before = LOST._value.get()
    redis = RedisServer("unix:///nowhere/valkey.sock")
    with override_settings(CHANNEL_LAYERS=nobody, REDIS=redis), caplog.at_level(logging.WARNING):
        for second in range(3):
            publish_sync(writer.write(Batch.of(cluster, spans=[make.span(now + second)])), ENDED)
    assert LOST._value.get() - before == 3
    assert sum("live pages get nothing" in message for message in caplog.messages) == 1
    committed = writer.write(Batch.of(cluster, spans=[make.span(now + 3)]))
    asyncio.run(_received(cluster, lambda: asyncio.to_thread(publish_sync, committed, ENDED)))
    assert any("again" in message for message in caplog.messages)


def test_nothing_is_encoded_for_a_cluster_that_nobody_looks_at(
    writer: Writer, cluster: int, now: float, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = writer.write(Batch.of(cluster, spans=[make.span(now)]))
    monkeypatch.setattr(publication, "frames", lambda *_: pytest.fail("it was encoded"))
    publish_sync(committed, ENDED)
