"""A public link shows its run and nothing else: every URL and tile that its rights reach, walked."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.timezone import now as utc_now

from observatory.alerts.models import Rule
from observatory.alerts.web.timelines import TimelineAlerts
from observatory.clusters.models import Cluster
from observatory.replay.api import MAXIMUM_TILES
from observatory.replay.live.routing import websocket_urlpatterns
from observatory.replay.schemas import ClusterInfo, EventItem, Lanes, State
from observatory.replay.tiles.layers import LAYER_NAMES
from observatory.replay.tiles.levels import MAXIMUM_LEVEL, MINIMUM_LEVEL, TileId
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.links import make_link, revoke
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.blocks import Block, decode
from observatory.wire.records import Action, Event, Sample, Series, Span, WorkerGone, WorkerSeen
from tests.support.response_schemas import assert_documented
from tests.support.stored_alerts import make_alert
from tests.support.tile_urls import unpacked

LENGTH = 30.0
"""seconds of the run; it begins 60 s after the cluster"""
INSIDE, OUTSIDE = "inside", "secret"


@pytest.fixture
def author(db: None) -> User:
    return User.objects.create_user("jane-the-author", password=None)


@pytest.fixture
def run(cluster: Cluster, writer: Writer, now: float) -> Run:
    """A run of a cluster of which everything before and after it has "secret" in its names."""
    start = now + 60
    spans, samples, events = [], [], []
    for second in range(180):
        time = now + second
        word = INSIDE if start <= time < start + LENGTH else OUTSIDE
        worker = f"tcp://{word}:1"
        spans.append(span(worker, word, second, time, 0.4))
        samples.append(
            Sample(Series("observatory_worker_memory_bytes", (("type", "process"),), worker), time, 1e9)
        )
        events.append(Event(time, "worker-status", worker, {"message": f"{word} {second}"}))
        events.append(Event(time + 0.1, "user-topic", "", {"message": f"{OUTSIDE} of the code"}))
    # one that crosses both edges
    spans.append(span(f"tcp://{INSIDE}:1", INSIDE, 999, start - 5, LENGTH + 10))
    workers = [
        WorkerSeen(f"tcp://{OUTSIDE}:1", OUTSIDE, OUTSIDE, 1, 10**9, now - 1),
        WorkerSeen(f"tcp://{INSIDE}:1", INSIDE, "host", 1, 10**9, start - 6),
    ]
    writer.write(Batch.of(cluster.pk, workers, spans, samples, events, [], committed=now + 180))
    gone = [
        WorkerGone(f"tcp://{OUTSIDE}:1", start - 3, "lost"),
        WorkerGone(f"tcp://{INSIDE}:1", start + LENGTH + 9, "lost"),
    ]
    writer.write(Batch.of(cluster.pk, [], [], [], [], gone, committed=now + 400))
    moments = (from_seconds(start), from_seconds(start + LENGTH))
    return Run.objects.create(
        cluster=cluster,
        name="nightly",
        origin="cut",
        start=moments[0],
        stop=moments[1],
        tasks=30,
        counted=utc_now(),
        user="jane-the-author",
    )


def span(worker: str, word: str, number: int, start: float, length: float) -> Span:
    return Span(
        worker, 1, f"{word}-{number}", word, f"{word}-group", Action.COMPUTE, start, start + length, 8, word
    )


def link_to(run: Run, author: User, **reported: Any) -> Permalink:
    """A link to anyone that shows addresses: test_link_addresses.py is about hiding them."""
    fields = {"hides_addresses": False, **reported}
    return make_link(Permalink(run=run, audience=Permalink.Audience.ANYONE, **fields), author)


def api(link: Permalink) -> str:
    return f"/api/v1/r/{link.token}"


def tiles(client: Client, link: Permalink, layer: str) -> list[tuple[TileId, list[Block]]]:
    """The tiles of a layer on some levels: about the edges of the run, within it, before and after it."""
    assert link.run.stop
    start, stop = (round(time.timestamp() * 1e6) for time in (link.run.start, link.run.stop))
    levels = (MINIMUM_LEVEL, 14, 16, 17, 20, 24, MAXIMUM_LEVEL)
    times = (start - 20_000_000, start - 1, start, (start + stop) // 2, stop, stop + 20_000_000)
    tile_ids = list(dict.fromkeys(TileId.at(level, time) for level in levels for time in times))
    bodies: list[bytes] = []
    for first in range(0, len(tile_ids), MAXIMUM_TILES):
        names = [f"{layer}/{each.level}/{each.index}" for each in tile_ids[first : first + MAXIMUM_TILES]]
        answer = client.get(f"{api(link)}/tiles?of={','.join(names)}&version=1")
        assert answer.status_code == 200, answer.content
        assert "immutable" not in answer.headers["Cache-Control"]
        bodies += unpacked(answer.content)
    last = tile_ids[-1]
    single = client.get(f"{api(link)}/tiles/{layer}/{last.level}/{last.index}?version=1")
    assert (single.content, single.headers["Cache-Control"]) == (bodies[-1], "private, no-cache")
    return [(tile_id, list(decode(body))) for tile_id, body in zip(tile_ids, bodies, strict=True)]


def times_of(block: Block, tile_id: TileId) -> list[float]:
    """The instants, in seconds, that a block's rows tell of; of bins the nearer edges of the run's window."""
    found = [time for name in ("time", "start", "stop") if name in block.columns for time in block.list(name)]
    return found + [block.meta[name] for name in ("first", "last") if name in block.meta]


def test_no_tile_of_a_public_link_tells_of_anything_outside_of_the_run(
    run: Run, author: User, client: Client
) -> None:
    link = link_to(run, author, shows_logs=True, shows_code=True, shows_tracebacks=True)
    start, stop = run.start.timestamp(), run.start.timestamp() + LENGTH
    reported = 0
    for layer in LAYER_NAMES:
        for tile_id, blocks in tiles(client, link, layer):
            for block in blocks:
                for time in times_of(block, tile_id):
                    assert start <= time <= stop, (layer, tile_id, block.kind)
                reported += block.rows
                if block.kind == "busy":
                    width = tile_id.width / 512
                    for bin in block.list("bin"):
                        at = tile_id.start + bin * width
                        assert start * 1e6 - width < at < stop * 1e6, (layer, tile_id)
                    assert sum(block.list("seconds")) <= 1.5 * LENGTH
                texts = [text for column in block.columns.values() for text in column.values or ()]
                found = [text for text in texts if OUTSIDE in text.replace(f"{OUTSIDE} of the code", "")]
                assert not found, (layer, tile_id, block.kind)
                assert not {"task_count", "error_count", "worker_count"} & set(block.meta)
    assert reported > 100


def test_no_other_answer_tells_of_anything_outside_of_the_run_or_of_people(
    run: Run, author: User, client: Client
) -> None:
    link = link_to(run, author, shows_logs=True, shows_code=True, shows_tracebacks=True)
    start = run.start.timestamp()
    paths = [api(link), f"{api(link)}/lanes", f"{api(link)}/events?limit=5000", f"/r/{link.token}?at=1"]
    paths += [f"{api(link)}/state?at={at}" for at in (1, start - 50, start, start + 10, start + 90, 4e9)]
    paths += [f"{api(link)}/logs", f"{api(link)}/log-counts", f"/r/{link.token}/errors"]
    for path in paths:
        answer = client.get(path)
        assert answer.status_code == 200, path
        text = answer.content.decode()
        assert OUTSIDE not in text.replace(f"{OUTSIDE} of the code", ""), path
        assert author.get_username() not in text, path
        assert run.cluster.scheduler_id not in text, path
        assert "team" not in text.lower(), path
    lane = client.get(f"{api(link)}/lanes").json()["lanes"][0]["id"]
    assert client.get(f"{api(link)}/span?lane={lane}&at={start - 2}").status_code == 404
    shown = client.get(f"{api(link)}/span?lane={lane}&at={start + 0.9}").json()
    assert shown["start"] >= start
    assert shown["stop"] <= start + LENGTH
    assert client.get(f"{api(link)}/stacks?ids=1,2").status_code == 200


def test_of_alerts_a_link_tells_the_rule_the_severity_and_the_times_in_the_run_alone(
    run: Run, author: User, client: Client
) -> None:
    start, secret = run.start, {"labels": {"worker": OUTSIDE}, "message": OUTSIDE, "acknowledgement": OUTSIDE}
    make_alert(run.cluster, f"{OUTSIDE} before", -50, -50, -1, start, **secret)
    make_alert(run.cluster, f"{OUTSIDE} after", LENGTH + 1, LENGTH + 1, None, start, **secret)
    make_alert(
        run.cluster, INSIDE, -5, -2, LENGTH + 60, start, **secret, acknowledged_by=author, acknowledged=start
    )
    Rule.objects.update(description=OUTSIDE, advice=OUTSIDE)
    answer = client.get(f"{api(link_to(run, author, shows_logs=True))}/alerts")
    [reported] = answer.json()["alerts"]
    assert reported == {
        "rule": INSIDE,
        "severity": "warning",
        "pending": start.timestamp(),
        "fired": start.timestamp(),
        "resolved": start.timestamp() + LENGTH,
    }
    for text in (OUTSIDE, author.get_username()):
        assert text not in answer.content.decode()


def test_the_state_through_a_link_counts_from_the_start_of_the_run(
    run: Run, author: User, client: Client
) -> None:
    link = link_to(run, author)
    state = client.get(f"{api(link)}/state?at={run.start.timestamp() + LENGTH}").json()
    [row] = state["progress"]
    assert (row["name"], row["done"]) == (INSIDE, 30)
    assert state["totals"]["tasks"] == 30


def test_the_documents_of_a_link_and_of_its_run_are_as_documented(
    run: Run, author: User, client: Client, admin_client: Client
) -> None:
    make_alert(run.cluster, INSIDE, 1, 2, None, run.start, labels={"worker": INSIDE})
    at = run.start.timestamp() + 5
    for reader, url in (
        (client, api(link_to(run, author))),
        (admin_client, f"/api/v1/runs/{run.pk}/timeline"),
    ):
        for schema, path in (
            (ClusterInfo, ""),
            (Lanes, "/lanes"),
            (State, f"/state?at={at}"),
            (list[EventItem], "/events"),
            (TimelineAlerts, "/alerts"),
        ):
            assert_documented(schema, reader.get(f"{url}{path}").json())


def test_what_can_hold_secrets_is_left_out_unless_it_was_ticked(
    run: Run, author: User, client: Client
) -> None:
    link = link_to(run, author)
    own = ("/logs", "/log-counts", "/tiles/profile/20/1", "/tiles?of=spans/20/1,profile/20/1")
    for path in (f"/r/{link.token}/logs", f"/r/{link.token}/errors", *(f"{api(link)}{path}" for path in own)):
        assert client.get(path).status_code == 404, path
    assert client.get(f"{api(link)}/stacks?ids=1").status_code == 404
    texts = json.dumps(
        [
            [block.list("message"), block.list("detail")]
            for _, blocks in tiles(client, link, "events")
            for block in blocks
            if block.kind == "event"
        ]
    )
    assert "of the code" not in texts
    assert "a worker's status changed" in texts
    assert INSIDE not in texts
    assert "of the code" not in client.get(f"{api(link)}/events?limit=5000").content.decode()


def test_no_socket_and_no_other_url_opens_by_a_token(run: Run, author: User, client: Client) -> None:
    link = link_to(run, author)
    assert [str(route.pattern) for route in websocket_urlpatterns] == ["ws/clusters/<int:cluster_id>/live"]
    for path in (
        f"/api/v1/clusters/{run.cluster_id}",
        f"/api/v1/runs/{run.pk}/timeline",
        f"/api/v1/r/{link.token}x",
    ):
        assert client.get(path, headers={"Authorization": f"Bearer {link.token}"}).status_code in (401, 404)
    assert client.post(api(link)).status_code in (401, 405)


def test_a_revoked_and_an_expired_link_open_nothing(run: Run, author: User, client: Client) -> None:
    revoked, expired = link_to(run, author), link_to(run, author, expires=utc_now() - timedelta(seconds=1))
    assert client.get(f"/r/{revoked.token}").status_code == 200
    revoke(revoked)
    for link in (revoked, expired):
        pages = (f"/r/{link.token}", f"/r/{link.token}/picture.png")
        for path in (*pages, api(link), f"{api(link)}/lanes", f"{api(link)}/alerts"):
            assert client.get(path).status_code == 404, path


def test_a_link_for_members_sends_to_the_run_and_asks_others_to_sign_in(
    run: Run, author: User, client: Client, member: Client, stranger: Client
) -> None:
    link = link_to(run, author)
    Permalink.objects.filter(pk=link.pk).update(audience="members", place="from=1&to=2")
    anonymous = Client()
    assert anonymous.get(f"/r/{link.token}").headers["Location"].startswith("/sign-in/?next=/r/")
    assert anonymous.get(api(link)).status_code == 404
    assert stranger.get(f"/r/{link.token}").status_code == 404
    assert member.get(f"/r/{link.token}").headers["Location"] == f"/runs/{run.pk}/?from=1&to=2"
    link.refresh_from_db()
    assert link.opened == 1


def test_a_link_carries_what_was_on_screen_and_counts_its_openings(
    run: Run, author: User, client: Client
) -> None:
    at = f"{run.start.timestamp() + 5:.3f}"
    link = link_to(run, author, place=f"at={at}&speed=2")
    answer = client.get(f"/r/{link.token}")
    assert answer.headers["Location"] == f"/r/{link.token}?at={at}&speed=2"
    assert client.get(answer.headers["Location"]).status_code == 200
    link.refresh_from_db()
    assert link.opened == 1
    assert link.last_opened is not None


def test_a_pasted_link_previews_with_title_summary_and_picture(
    run: Run, author: User, client: Client
) -> None:
    Run.objects.update(name='<img src=x onerror="alert(1)">')
    link = link_to(run, author)
    page = client.get(f"/r/{link.token}").content.decode()
    assert "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;" in page
    assert "<img src=x" not in page
    assert 'property="og:description" content="30 tasks in 30.0 s"' in page
    assert f"http://testserver/r/{link.token}/picture.png" in page
    picture = client.get(f"/r/{link.token}/picture.png")
    assert picture.headers["Content-Type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    assert len(picture.content) > 3000


def test_tokens_have_at_least_128_random_bits(run: Run, author: User) -> None:
    tokens = {link_to(run, author).token for _ in range(20)}
    assert len(tokens) == 20
    assert min(map(len, tokens)) * 6 >= 128
