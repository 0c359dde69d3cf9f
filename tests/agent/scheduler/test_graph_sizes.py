"""How large a graph was, and how long the scheduler unpacked it."""

from __future__ import annotations

from types import SimpleNamespace

from distributed import Client

from observatory.agent.scheduler.graphs import MAXIMUM_FRAMES, OPERATION, _nbytes
from tests.agent.eventually import eventually
from tests.agent.fake_server import FakeServer


def test_the_bytes_of_all_frames_count_and_another_version_of_dask_has_none() -> None:
    assert _nbytes(SimpleNamespace(frames=[b"12345", memoryview(bytearray(7))])) == 12
    assert _nbytes(SimpleNamespace(frames=[b"1"] * (MAXIMUM_FRAMES + 5))) == MAXIMUM_FRAMES
    assert _nbytes(None) == 0


def test_a_graph_is_recorded_with_its_size(client: Client, received: FakeServer) -> None:
    handlers = client.cluster.scheduler.stream_handlers
    client.submit(len, bytes(3_000_000), pure=False).result(120)
    [event] = eventually(lambda: [one for one in received.events("graph-updated") if "nbytes" in str(one)])
    detail = event["detail"]
    assert (detail["tasks"], 3_000_000 < detail["nbytes"] < 3_100_000) == (1, True)
    assert 0 < detail["seconds"] < 120
    assert detail["message"] == "a client submitted 1 task"
    import observatory.agent

    observatory.agent.unregister(client)
    assert handlers[OPERATION] == client.cluster.scheduler.update_graph
