"""A link that hides addresses shows no address, host or process id of its cluster in any response."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.replay.tiles.layers import LAYER_NAMES
from observatory.replay.tiles.levels import MAXIMUM_LEVEL, MINIMUM_LEVEL, TileId
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.links import make_link
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Action, Event, Sample, Series, Span, WorkerSeen
from tests.pages.site.test_who_may_open_what import every_route
from tests.replay.conftest import make_cluster
from tests.support.recorded_cluster import START, Recorded, at
from tests.support.tile_urls import unpacked

NAMED, UNNAMED, NUMBERED = "tcp://10.11.12.13:40001", "tcp://[fd00::17]:40002", "tls://10.11.12.14:40003"
NANNY, SCHEDULER, UNKNOWN = "tcp://10.11.12.13:40999", "tcp://10.11.12.1:40786", "tcp://10.11.12.99:40666"
SECRETS = ("10.11.12.", "node17", "fd00::17", ":4000", ":40786", ":40999", "48213", "51777")
MESSAGE = (
    f"Worker process 48213 at {NAMED} on node17 (node17.cluster.local:40001) died, nanny {NANNY}, "
    f"peers {UNNAMED} and 10.11.12.14:40003, {SCHEDULER}, {UNKNOWN}, pid=51777"
)


@pytest.fixture
def run(transactional_db: None) -> Run:
    """A run that has addresses in every text."""
    cluster = make_cluster(START - 100)
    Cluster.objects.update(address=SCHEDULER)
    process = {"pid": 48213, "nanny": NANNY}
    workers = [
        WorkerSeen(NAMED, "gpu-node17", "node17.cluster.local", 1, 10**9, START - 90, detail=process),
        WorkerSeen(UNNAMED, UNNAMED, "fd00::17", 1, 10**9, START - 90, detail={"pid": 51777}),
        WorkerSeen(NUMBERED, "7", "10.11.12.14", 1, 10**9, START - 90),
    ]
    memory = "observatory_worker_memory_bytes"
    spans, samples = [], []
    for worker in (NAMED, UNNAMED, NUMBERED):
        key = f"load-{worker}"
        spans.append(Span(worker, 1, key, "load", "load", Action.COMPUTE, START, START + 5, 8, "int"))
        samples.append(Sample(Series(memory, (("type", "process"),), worker), START + 1, 1e9))
    topic = {"message": MESSAGE, "event": {"workers": {NAMED: {"pid": 48213, "host": "node17"}}}}
    events = [
        Event(START + 1, "worker-added", NAMED, {"message": "gpu-node17 joined"}),
        Event(START + 1, "worker-restarted", NAMED, {"message": MESSAGE, "pid": 48213, "nanny_pid": 51777}),
        Event(START + 1, "topic", "", topic),
    ]
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, workers, spans, samples, events, [], committed=START + 100))
    with connect() as connection:
        recorded = Recorded(connection, cluster.pk)
        shown = {"traceback": MESSAGE, "function": "node17", "arguments": MESSAGE}
        recorded.error(1, "load-1", "Error", MESSAGE, workers=[NAMED, UNNAMED], **shown)
        recorded.log(1, MESSAGE, traceback=MESSAGE, logger="distributed.node17")
    return Run.objects.create(cluster=cluster, name="nightly", origin="cut", start=at(0), stop=at(10))


TILES = ",".join(
    f"{layer}/{level}/{TileId.at(level, round((START + 1) * 1e6)).index}"
    for layer in ("spans", "events", "profile")
    for level in (10, 20)
)


def responses(client: Client, run: Run, hides_addresses: bool) -> dict[str, str]:
    """The response of every URL that a link's token reaches, by its path without the token."""
    author, _ = User.objects.get_or_create(username="jane")
    shown = {"shows_logs": True, "shows_code": True, "shows_tracebacks": True}
    link = Permalink(run=run, audience=Permalink.Audience.ANYONE, hides_addresses=hides_addresses, **shown)
    token = make_link(link, author).token
    known = client.get(f"/api/v1/r/{token}/lanes").json()
    lanes, prefix = known["lanes"], str(known["prefixes"][0]["id"])
    worker = str(known["workers"][0]["id"])
    found = {}
    for path in paths():
        for lane in lanes if path.endswith("/span") else lanes[:1]:
            url = f"{path}?at={START + 2}&lane={lane['id']}&ids=1&limit=1000&key=load-1&of={TILES}"
            answer = client.get(
                "/" + url.replace("TOKEN", token).replace("PREFIX", prefix).replace("WORKER", worker),
                follow=True,
            )
            assert answer.status_code == 200, url
            is_packed = path.endswith("/tiles")
            content = b"".join(unpacked(answer.content)) if is_packed else answer.content
            found[url] = content.decode("latin-1")
    return found


def paths() -> Iterator[str]:
    for route in every_route():
        if re.match("(api/v1/)?r/<", route):
            for layer in LAYER_NAMES if "layer" in route else ("",):
                for level in (MINIMUM_LEVEL, 16, 20, MAXIMUM_LEVEL) if layer else (0,):
                    index = TileId.at(level, round((START + 1) * 1e6)).index if layer else 0
                    places = {"token": "TOKEN", "layer": layer, "level": level, "index": index}
                    places |= {"prefix": "PREFIX", "worker": "WORKER"}
                    yield re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(places[match[1]]), route)  # noqa: B023


def test_no_response_has_an_address_a_host_or_a_process_id(run: Run, client: Client) -> None:
    found = responses(client, run, hides_addresses=True)
    assert [(url, secret) for url, text in found.items() for secret in SECRETS if secret in text] == []
    texts = "".join(found.values())
    for shown in ("worker 0", "worker 1", "worker 7", "host 0", "host 1", "nanny of worker 0", "scheduler"):
        assert shown in texts


def test_a_link_that_shows_addresses_has_all_of_them(run: Run, client: Client) -> None:
    found = responses(client, run, hides_addresses=False)
    tiles = ("/tiles/spans/10/", "/tiles/events/20/", "/tiles?")
    for part in ("/lanes", "/events", "/span", *tiles, "/logs", "/errors"):
        texts = "".join(text for url, text in found.items() if part in url)
        assert "10.11.12." in texts, part
    texts = "".join(found.values())
    assert [secret for secret in SECRETS if secret not in texts] == []


def test_workers_and_hosts_of_a_link_have_numbers(run: Run, client: Client) -> None:
    link = make_link(Permalink(run=run, audience="anyone"), User.objects.create_user("jane"))
    workers = client.get(f"/api/v1/r/{link.token}/lanes").json()["workers"]
    assert [(worker["name"], worker["address"], worker["host"]) for worker in workers] == [
        ("worker 0", "worker 0", "host 0"),
        ("worker 1", "worker 1", "host 1"),
        ("worker 7", "worker 7", "host 2"),
    ]


def test_the_form_hides_addresses_unless_that_is_unticked(run: Run, client: Client) -> None:
    client.force_login(User.objects.create_superuser("admin", password=None))
    url = f"/runs/{run.pk}/links/"
    [box] = re.findall('<input[^>]*name="hides_addresses"[^>]*>', client.get(url).content.decode())
    assert "checked" in box
    for sent, hides in (
        ({"audience": "anyone", "hides_addresses": "on"}, True),
        ({"audience": "anyone"}, False),
        ({"audience": "members", "hides_addresses": "on"}, False),
    ):
        assert client.post(url, sent).status_code == 302
        assert Permalink.objects.latest("pk").hides_addresses is hides
    assert client.get(url).content.decode().count(", addresses") == 1
