"""A public link shows what is listed, at every URL that its token reaches."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote, unquote, unquote_plus

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.timezone import now as utc_now
from PIL import ImageDraw

from observatory.clusters.tokens.ingest_tokens import digest_of
from observatory.replay.scope import ALL_SECTIONS, Section
from observatory.replay.tiles.layers import LAYER_NAMES
from observatory.replay.tiles.levels import MAXIMUM_LEVEL, MINIMUM_LEVEL, TileId
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.links import find_link, make_link, revoke
from observatory.store.connection import connect
from observatory.store.queries.extents import SETTLING
from observatory.wire.blocks import Block, decode
from observatory.wire.event_kinds import EVENT_KINDS, DetailType
from observatory.wire.layers import EACH, SPANS
from tests.pages.site.test_who_may_open_what import every_route
from tests.runs.secret_words import INSIDE, PHASES, Recorded, key_of, record, word
from tests.support.tile_urls import unpacked

LOGS, CODE, TRACEBACKS = Section.LOGS, Section.CODE, Section.TRACEBACKS
COMBINATIONS = [frozenset(some) for count in range(4) for some in itertools.combinations(Section, count)]
TICKS = {LOGS: "shows_logs", CODE: "shows_code", TRACEBACKS: "shows_tracebacks"}
ADDRESSES = {("worker", "address"), ("worker", "name"), ("worker", "host")}
SHOWN: dict[tuple[str, str], set[Section]] = {
    ("task", "one"): set(),
    ("task", "two"): set(),
    ("span", "typename"): set(),
    ("sample", "custom"): set(),
    ("shuffle", "shuffle"): set(),
    ("shuffle", "what"): set(),
    **{("fine_performance", name): set() for name in ("names", "activity", "unit")},
    ("run", "name"): set(),
    **{("rule", name): set() for name in ("event", "metric", "run", "slower", "ended")},
    **{name: set() for name in ADDRESSES},
    ("log", "logger"): {LOGS},
    ("log", "message"): {LOGS},
    ("log", "traceback"): {LOGS, TRACEBACKS},
    ("profile", "stack"): {CODE},
    ("computation", "code"): {CODE},
    ("run", "code"): {CODE},
    **{
        ("error", name): {TRACEBACKS}
        for name in ("exception_type", "message", "traceback", "function", "arguments")
    },
    **{
        ("event", f"{kind.name}{name}"): {LOGS, TRACEBACKS}
        for kind in EVENT_KINDS.values()
        for name in (
            *(() if kind.has_bounds else ("message",)),
            *(item.name for item in kind.details if item.type is DetailType.TEXT),
        )
    },
}
"""the words of the link's run that it may show, and the sections that it has to share for that"""
LAYERS = (*LAYER_NAMES, f"{SPANS}.{EACH}")


@dataclass
class Answer:
    url: str
    """without the token"""
    texts: str
    times: list[tuple[str, float]]
    """with what has them"""


@pytest.fixture
def recorded(transactional_db: None, now: float) -> Recorded:
    return record(now)


def link_to(
    recorded: Recorded, sections: frozenset[Section], hides_addresses: bool, place: str | None = None
) -> str:
    author, _ = User.objects.get_or_create(username="jane")
    ticks = {tick: section in sections for section, tick in TICKS.items()}
    usual = f"key={quote(key_of(word('after', 'task', 'one')))}&at={recorded.stop + 20}&tab=tasks&from=1&to=2"
    link = Permalink(
        run=recorded.run,
        audience=Permalink.Audience.ANYONE,
        hides_addresses=hides_addresses,
        **ticks,
        place=usual if place is None else place,
    )
    return make_link(link, author).token


def walk(client: Client, recorded: Recorded, token: str) -> Iterator[Answer]:
    """The answers of all URLs that the token reaches, asked for what is in the run and out of it."""
    for path in paths(recorded):
        url = path.replace("TOKEN", token)
        answer = client.get(f"/{url}")
        assert answer.status_code in (200, 302, 404), (path, answer.content[:300])
        if answer.status_code == 200 and not path.startswith("r/TOKEN/picture"):
            yield read(path, answer)
        if answer.status_code == 302:
            yield Answer(path, unquote(answer.headers["Location"]), [])


def paths(recorded: Recorded) -> Iterator[str]:
    """The URLs of all routes of links, below TOKEN, with what is recorded of each run."""
    ids = stored_ids(recorded)
    moments = [f"at={at}" for at in (recorded.start - 30, recorded.start + 3.2, recorded.stop + 20)]
    keys = [f"key={quote(key_of(word(phase, 'task', task)))}" for phase in PHASES for task in ("one", "two")]
    queries = {
        "/tiles": [f"of={','.join(tiles(recorded, layer))}" for layer in LAYERS],
        "/lineage": keys,
        "/span": [f"lane={lane}&{at}" for lane in ids["lane"] for at in moments],
        "/stacks": [f"ids={','.join(map(str, ids['stack']))}"],
        "/prefix-names": [f"ids={','.join(map(str, ids['prefix']))}"],
        **dict.fromkeys(("/state", "/results", "/workers", "/running"), moments),
    }
    for route in every_route():
        if re.match("(api/v1/)?r/<", route):
            path = re.sub(r"<(?:\w+:)?token>", "TOKEN", route)
            own = next((some for end, some in queries.items() if path.endswith(end)), None)
            for query in own or ["", f"after={recorded.began}&before={recorded.began + 300}"]:
                yield from (f"{place}?{query}".rstrip("?") for place in filled(path, recorded, ids))


def filled(path: str, recorded: Recorded, ids: dict[str, list[int]]) -> Iterator[str]:
    """The path with something for each of its places."""
    if "layer" in path:
        base = path.split("<")[0]
        yield from (base + next(tiles(recorded, layer)) for layer in ("spans", "events", "profile"))
    elif "<" in path:
        table = "worker" if "worker" in path else "prefix"
        yield from (re.sub("<[^>]*>", str(id), path) for id in ids[table])
    else:
        yield path


def tiles(recorded: Recorded, layer: str) -> Iterator[str]:
    """Tiles within the run, over its edges, and before and after it."""
    for level in (16, MINIMUM_LEVEL, 20, MAXIMUM_LEVEL):
        for at in (recorded.start + 3, recorded.start - 25, recorded.stop + 15):
            yield f"{layer}/{level}/{TileId.at(level, round(at * 1e6)).index}"


def stored_ids(recorded: Recorded) -> dict[str, list[int]]:
    with connect() as connection:
        return {
            table: [
                row[0]
                for row in connection.execute(
                    f"SELECT id FROM {table} WHERE cluster_id = %s ORDER BY id".encode(),
                    [recorded.run.cluster_id],
                )
            ]
            for table in ("lane", "worker", "prefix", "stack")
        }


def read(path: str, answer: Any) -> Answer:
    if path.startswith("api/v1/r/TOKEN/tiles?"):
        blocks = [block for body in unpacked(answer.content) for block in decode(body)]
    elif re.search("/(tiles/|stacks)", path):
        blocks = list(decode(answer.content))
    elif answer.headers["Content-Type"].startswith("application/json"):
        document = answer.json()
        return Answer(path, json.dumps(document), list(numbers_in(document)))
    else:
        return Answer(path, answer.content.decode(), [])
    return Answer(path, *read_blocks(blocks))


def read_blocks(blocks: Iterable[Block]) -> tuple[str, list[tuple[str, float]]]:
    texts, found = [], []
    for block in blocks:
        texts.append(json.dumps(dict(block.meta)))
        found += list(numbers_in(dict(block.meta)))
        for name, column in block.columns.items():
            texts += list(column.values or ())
            if column.values is None:
                found += [(name, value) for value in block.list(name)]
            elif name == "detail":
                found += [number for text in column.values for number in numbers_in(json.loads(text))]
    return "\n".join(texts), found


def numbers_in(document: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a document. The first of its bins begins before the window by less than its width."""
    if isinstance(document, dict):
        width = document.get("width", 0)
        for key, value in document.items():
            is_edge = width and key in ("start", "first")
            yield from numbers_in(value + width * 0.999 if is_edge else value, key)
    elif isinstance(document, list):
        for value in document:
            yield from numbers_in(value, name)
    elif isinstance(document, int | float):
        yield name, document


def hidden_words(recorded: Recorded, sections: frozenset[Section], hides_addresses: bool) -> set[str]:
    return {
        word(phase, kind, name)
        for phase, kind, name in recorded.words
        if phase != INSIDE
        or not SHOWN.get((kind, name), {None}) <= sections
        or (hides_addresses and (kind, name) in ADDRESSES)
    }


def leaks_of(answer: Answer, recorded: Recorded, hidden: set[str]) -> set[str]:
    """What an answer has of what it should not have, but for the words of its question."""
    asked = unquote(answer.url)
    found = {each for each in re.findall("zq[a-z]*qz", answer.texts) if each in hidden and each not in asked}
    for name, time in answer.times:
        latest = recorded.stop + (SETTLING if name == "committed" else 0)
        is_recorded = recorded.began - 100 <= time <= recorded.began + 1_000 and name != "now"
        if is_recorded and not recorded.start <= time <= latest:
            found.add(f"{name} is {time - recorded.start:+.3f} s")
    return found


@pytest.fixture
def _often(settings: Any) -> None:
    settings.LINK_REQUESTS = 1_000_000


@pytest.mark.usefixtures("_often")
@pytest.mark.parametrize("hides_addresses", [True, False])
def test_a_link_shows_the_words_and_times_that_it_shares_and_no_others(
    recorded: Recorded, client: Client, hides_addresses: bool
) -> None:
    for sections in COMBINATIONS if hides_addresses else (COMBINATIONS[0], COMBINATIONS[-1]):
        token = link_to(recorded, sections, hides_addresses)
        hidden = hidden_words(recorded, sections, hides_addresses)
        answers = list(walk(client, recorded, token))
        leaks = [(answer.url, leaks_of(answer, recorded, hidden)) for answer in answers]
        assert [leak for leak in leaks if leak[1]] == [], sections
        seen = "".join(answer.texts for answer in answers)
        shared = {word(INSIDE, *name) for name in SHOWN} - hidden
        assert {each for each in shared if each not in seen} == set(), sections


@pytest.mark.usefixtures("_often")
def test_of_a_search_by_what_is_hidden_nothing_is_found(recorded: Recorded, client: Client) -> None:
    token = link_to(recorded, frozenset({LOGS}), hides_addresses=True)
    url = f"/api/v1/r/{token}"
    for phase, field, found in (
        (INSIDE, "message", 2),
        (INSIDE, "traceback", 0),
        ("after", "message", 0),
        ("before", "logger", 0),
    ):
        text = word(phase, "log", field)
        lines = client.get(f"{url}/logs?match={text}&before={recorded.stop + 300}").json()["lines"]
        counted = client.get(f"{url}/log-counts?match={text}").json()["levels"]
        assert len(lines) == sum(sum(level["counts"]) for level in counted) == found, (phase, field)
    at = f"at={recorded.start + 8}"
    for phase, found in ((INSIDE, 1), ("before", 0), ("after", 0)):
        text = word(phase, "task", "one")
        assert client.get(f"{url}/results?{at}&text={text}").json()["found"]["count"] == found, phase


@pytest.mark.usefixtures("_often")
def test_a_revoked_and_an_expired_link_open_none_of_its_urls(recorded: Recorded, client: Client) -> None:
    revoked, expired = (link_to(recorded, ALL_SECTIONS, hides_addresses=True) for _ in range(2))
    revoke(find_link(revoked))
    Permalink.objects.filter(digest=digest_of(expired)).update(expires=utc_now() - timedelta(seconds=1))
    for token in (revoked, expired):
        for path in paths(recorded):
            answer = client.get("/" + path.replace("TOKEN", token))
            assert answer.status_code == 404, path
            assert "zq" not in unquote(answer.content.decode()).replace(unquote(path), ""), path


def test_the_picture_and_the_page_name_the_run_as_the_link_shows_it(
    recorded: Recorded, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same picture is kept for links that show the same alone."""
    drawn: list[str] = []
    monkeypatch.setattr(ImageDraw.ImageDraw, "text", lambda _, place, text, *more: drawn.append(text))
    host = word(INSIDE, "worker", "host")
    Run.objects.filter(pk=recorded.run.pk).update(name=f"etl on {host}")
    for hides_addresses, name in (
        (False, f"etl on {host}"),
        (True, "etl on host 1"),
        (False, f"etl on {host}"),
    ):
        token = link_to(recorded, ALL_SECTIONS, hides_addresses)
        assert client.get(f"/r/{token}/picture.png").status_code == 200
        assert name in drawn or not hides_addresses, drawn
        assert not (hides_addresses and f"etl on {host}" in drawn)
        for path in ("?tab=tasks", "/errors"):
            page = client.get(f"/r/{token}{path}").content.decode()
            assert f"{name} · Dask Observatory</title>" in page
            assert (host in page) is not hides_addresses
        drawn.clear()


def test_a_link_opens_in_the_part_of_its_view_that_it_shows(recorded: Recorded, client: Client) -> None:
    key, host = key_of(word(INSIDE, "task", "one")), word(INSIDE, "worker", "host")
    place = (
        f"tab=tasks&from={recorded.start - 100}&to={recorded.stop - 1}&at=nan&worker=7&label=version&value=1"
        f"&key={key}&runs=1,2&against=run-4&match=x&zoom=f&rows={host}&secret=1"
    )
    shown = f"tab=tasks&from={recorded.start:.3f}&to={recorded.stop - 1:.3f}&worker=7&key={key}"
    for sections, hides_addresses, kept in (
        (frozenset(), True, f"{shown}&rows=host 1"),
        (frozenset(), False, f"{shown}&rows={host}"),
        (ALL_SECTIONS, True, f"{shown}&match=x&zoom=f&rows=host 1"),
    ):
        token = link_to(recorded, sections, hides_addresses, place)
        assert unquote_plus(client.get(f"/r/{token}").headers["Location"]) == f"/r/{token}?{kept}"
