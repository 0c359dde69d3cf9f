"""Tiles: the level that fits, something to see while better is on its way, live batches joined exactly."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from observatory.wire.blocks import encode
from tests.frontend.conftest import Server
from tests.frontend.timeline.make import BYTES_OF, FIRST, INFO, extent, profile, spans, text

CLUSTER = "/api/v1/clusters/1"
TILES = f"{CLUSTER}/tiles"
SETUP = f"""async ([info, script, ...rest]) => {{
  {BYTES_OF}
  const {{ Tiles }} = await import("/frontend/timeline/tiles/tiles.js");
  const {{ decode }} = await import("/frontend/timeline/tiles/blocks.js");
  const source = {{ url: "{CLUSTER}", ask: (...asked) => fetch(...asked) }};
  const state = (window.state ??= {{ tiles: new Tiles(source, info) }});
  const {{ tiles }} = state;
  const frame = data => {{
    const blocks = decode(bytesOf(data));
    tiles.setExtent({{ ...info, ...blocks.find(block => block.kind === "extent").meta }});
    return tiles.append(blocks);
  }};
  const cover = (start, stop, width = 1000) => tiles.cover("page", "spans", start, stop, width);
  const rows = found => found.flatMap(tile => (tile.blocks.get("span") ?? []).flatMap(block =>
    [...block.numbers("start")].filter(start => start >= tile.start && start < tile.stop))).sort();
  const until = async condition => {{
    for (let turn = 0; turn < 300; turn++) {{
      if (condition()) return true;
      await new Promise(resolve => setTimeout(resolve, 20));
    }}
    throw new Error("it never became true");
  }};
  return new (Object.getPrototypeOf(async () => {{}}).constructor)(
    "tiles", "frame", "cover", "rows", "until", "rest", "info", script
  )(tiles, frame, cover, rows, until, rest, info);
}}"""


def run(page: Page, script: str, *rest: Any, **changes: Any) -> Any:
    return page.evaluate(SETUP, [{**INFO, **changes}, script, *rest])


def level_of(path: str) -> int:
    found = re.fullmatch(rf"{TILES}/\w+/(\d+)/(\d+)\?version=(\d+)", path)
    assert found, path
    return int(found[1])


def answering(body: Callable[[str], bytes]) -> Callable[[str], tuple[int, bytes]]:
    return lambda path: (200, body(path))


@pytest.mark.parametrize(("seconds", "level"), [(1, 10), (60, 16), (3600, 22), (86_400 * 30, 32)])
def test_bins_are_one_to_two_pixels_wide(page: Page, server: Server, seconds: float, level: int) -> None:
    server.answer = answering(lambda path: extent())
    window = f"{FIRST + 10}, {FIRST + 10 + seconds}"
    run(page, f"cover({window}); await until(() => cover({window}).length)")
    assert {level_of(path) for path in server.asked} == {level}
    assert 1 <= 2**level / 1e6 / (seconds / 1000) < 2 or level == 10


def test_what_is_coarser_is_shown_until_the_finer_has_arrived(page: Page, server: Server) -> None:
    release = threading.Event()

    def body(path: str) -> bytes:
        if level_of(path) < 16:
            release.wait(10)
        return extent() + spans([(1, 1, 0, 0, FIRST + 500, FIRST + 501)])

    server.answer = answering(body)
    run(
        page,
        f"const found = () => rows(cover({FIRST + 470}, {FIRST + 530})); await until(() => found().length)",
    )
    levels, starts, inside = run(
        page,
        f"""const found = cover({FIRST + 495}, {FIRST + 505});
        const apart = found.every((tile, place) => !place || found[place - 1].stop <= tile.start + 1e-6);
        return [found.map(tile => tile.level), rows(found), apart]""",
    )
    assert set(levels) == {16}
    assert starts == [FIRST + 500]
    assert inside, "the coarser tile's pieces must not overlap"
    release.set()
    assert run(
        page, f"return until(() => cover({FIRST + 495}, {FIRST + 505}).every(tile => tile.level < 16))"
    )


def test_what_comes_together_is_drawn_together_and_what_is_late_holds_nothing_up(
    page: Page, server: Server
) -> None:
    release = threading.Event()

    def body(path: str) -> bytes:
        if path.startswith(f"{TILES}/late/"):
            release.wait(10)
        return extent()

    server.answer = answering(body)
    drawn = run(
        page,
        f"""const soon = window.setTimeout;
        window.setTimeout = (work, wait) => soon(work, 10 * wait); // however slow the machine is
        cover({FIRST}, {FIRST + 60}); await until(() => tiles.settled);
        const drawn = []; // with all that the windows show, or not
        tiles.addEventListener("change", () => drawn.push(tiles.settled));
        const together = ["spans", "prefixes", "events", "memory"];
        for (const layer of together) tiles.cover("page", layer, {FIRST + 200}, {FIRST + 260}, 1000);
        await until(() => drawn.length && !tiles.loading);
        const first = drawn[0];
        drawn.length = 0;
        for (const layer of ["spans", "late"]) tiles.cover("page", layer, {FIRST + 600}, {FIRST + 660}, 1000);
        await until(() => drawn.length);
        return [first, drawn[0]];""",
    )
    release.set()
    assert drawn == [True, False]
    assert len(server.asked) > 8


def test_what_is_due_is_sent_before_the_page_draws(page: Page, server: Server) -> None:
    server.answer = answering(lambda path: extent())
    run(
        page,
        f"""cover({FIRST}, {FIRST + 60}); tiles.ask();
        const drawn = performance.now(); while (performance.now() < drawn + 200);
        await until(() => tiles.settled);
        const begun = performance.getEntriesByType("resource").filter(one => one.name.includes("/tiles/"));
        if (!begun.some(one => one.startTime <= drawn + 1)) throw new Error("it was sent after drawing");""",
    )


def test_what_lies_beside_the_window_waits_for_what_is_in_it(page: Page, server: Server) -> None:
    server.answer = answering(lambda path: extent())
    start, stop = run(
        page,
        f"""const {{ levelFor, tileIndex, tileWidth }} = await import("/frontend/timeline/tiles/levels.js");
        const level = levelFor(60, 1000), width = tileWidth(level);
        const start = (tileIndex({FIRST + 300}, level) + 1) * width + 0.01 * width;
        cover(start, start + 60); await until(() => !tiles.loading);
        return [start, start + 60]""",
    )
    indices = [int(path.split("/")[-1].split("?")[0]) for path in server.asked]
    level = level_of(server.asked[0])
    inside = [
        start < (index + 1) * 512 * 2**level / 1e6 and index * 512 * 2**level / 1e6 < stop
        for index in indices
    ]
    assert inside == sorted(inside, reverse=True)
    assert False in inside


def test_what_left_the_screen_is_not_waited_for(page: Page, server: Server) -> None:
    release = threading.Event()

    def body(path: str) -> bytes:
        if level_of(path) == 16:
            release.wait(10)
        return extent()

    server.answer = answering(body)
    aborted = run(
        page,
        f"""cover({FIRST + 470}, {FIRST + 530}); await until(() => tiles.loading);
        const whole = () => cover({FIRST}, {FIRST + 1000});
        return until(() => whole().some(tile => tile.level === 20))""",
    )
    release.set()
    assert aborted


def test_a_batch_that_a_tile_holds_already_is_not_added_to_it_and_a_later_one_is(
    page: Page, server: Server
) -> None:
    window = f"{FIRST + 940}, {FIRST + 1000}"
    server.answer = answering(lambda path: extent(5) + spans([(1, 1, 0, 0, FIRST + 990, FIRST + 991)]))
    run(page, f"cover({window}); await until(() => rows(cover({window})).length)")
    old = spans([(1, 1, 0, 0, FIRST + 990, FIRST + 991)]) + extent(5)
    new = spans([(1, 1, 0, 0, FIRST + 995, FIRST + 996)]) + extent(6)
    assert run(page, f"frame(rest[0]); return rows(cover({window}))", text(old)) == [FIRST + 990]
    assert run(page, f"frame(rest[0]); return rows(cover({window}))", text(new)) == [FIRST + 990, FIRST + 995]


def test_batches_that_came_while_a_tile_was_on_its_way_are_added_to_it(page: Page, server: Server) -> None:
    release = threading.Event()

    def body(path: str) -> bytes:
        release.wait(10)
        return extent(5) + spans([(1, 1, 0, 0, FIRST + 990, FIRST + 991)])

    server.answer = answering(body)
    window = f"{FIRST + 940}, {FIRST + 1000}"
    frames = [spans([(1, 1, 0, 0, FIRST + 990 + n, FIRST + 991 + n)]) + extent(4 + n) for n in (0, 1, 2, 3)]
    run(page, f"cover({window}); await until(() => tiles.loading); rest.forEach(frame)", *map(text, frames))
    release.set()
    assert run(
        page, f"return until(() => rows(cover({window})).length).then(() => rows(cover({window})))"
    ) == [
        FIRST + 990,
        FIRST + 992,
        FIRST + 993,
    ]


def test_a_jump_in_the_numbers_is_noticed_and_the_open_tile_fetched_again(page: Page, server: Server) -> None:
    held = {"sequence": 5, "rows": [(1, 1, 0, 0, FIRST + 990, FIRST + 991)]}
    server.answer = answering(lambda path: extent(held["sequence"]) + spans(held["rows"]))  # type: ignore[arg-type]
    window = f"{FIRST + 940}, {FIRST + 1000}"
    run(page, f"cover({window}); await until(() => rows(cover({window})).length)")
    run(page, "frame(rest[0])", text(extent(6)))
    held["sequence"] = 8
    held["rows"] += [(1, 1, 0, 0, FIRST + 992, FIRST + 993), (1, 1, 0, 0, FIRST + 994, FIRST + 995)]  # type: ignore[operator]
    missed = spans([(1, 1, 0, 0, FIRST + 994, FIRST + 995)]) + extent(8)
    assert run(page, "return frame(rest[0])", text(missed)) is True
    assert run(page, f"return until(() => rows(cover({window})).length === 3)")


AFTER = f"{FIRST + 1080}, {FIRST + 1140}"
"""a window that nothing was stored of when the socket began"""


def after(sequence: int) -> bytes:
    """A batch of a span in that window."""
    moment = FIRST + 1100 + sequence
    return spans([(1, 1, 0, 0, moment, moment + 1)]) + extent(sequence, last=moment + 1, committed=moment + 1)


def test_a_tile_that_begins_after_all_that_was_stored_is_made_of_batches_and_not_fetched(
    page: Page, server: Server
) -> None:
    server.answer = answering(lambda path: extent(9))
    found = run(
        page,
        f"""tiles.begin(5, {FIRST + 1000}); rest.forEach(frame); cover({AFTER});
        await until(() => rows(cover({AFTER})).length); return rows(cover({AFTER}))""",
        text(after(6)),
        text(after(7)),
    )
    assert found == [FIRST + 1106, FIRST + 1107]
    assert server.asked == []


def test_such_a_tile_is_fetched_where_a_batch_is_missing(page: Page, server: Server) -> None:
    server.answer = answering(lambda path: after(8))
    run(
        page,
        f"""tiles.begin(5, {FIRST + 1000}); rest.forEach(frame); cover({AFTER});
        await until(() => rows(cover({AFTER})).includes({FIRST + 1108}))""",
        text(after(6)),
        text(extent(8, last=FIRST + 1109, committed=FIRST + 1109)),
    )


def test_while_the_socket_is_away_every_tile_is_fetched(page: Page, server: Server) -> None:
    server.answer = answering(lambda path: after(8))
    run(
        page,
        f"""tiles.begin(5, {FIRST + 1000}); rest.forEach(frame); tiles.end(); cover({AFTER});
        await until(() => rows(cover({AFTER})).includes({FIRST + 1108}))""",
        text(after(6)),
    )


def test_a_long_task_that_ends_reaches_back_into_closed_tiles(page: Page, server: Server) -> None:
    server.answer = answering(lambda path: extent(5))
    window = f"{FIRST + 100}, {FIRST + 160}"
    run(page, f"cover({window}); await until(() => cover({window}).length); frame(rest[0])", text(extent(6)))
    late = spans([(1, 1, 0, 0, FIRST + 90, FIRST + 1000)]) + extent(7, version=2)
    found = run(
        page,
        f"""frame(rest[0]); const found = cover({window});
        const held = found.map(tile => tile.blocks.get("span")?.length);
        return [found.every(tile => tile.closed), held.every(length => length === 1)]""",
        text(late),
    )
    assert found == [True, True]


def test_a_batch_without_a_late_record_leaves_closed_tiles_as_they_are(page: Page, server: Server) -> None:
    server.answer = answering(lambda path: extent(5))
    window = f"{FIRST + 100}, {FIRST + 160}"
    run(page, f"cover({window}); await until(() => cover({window}).length)")
    same = spans([(1, 1, 0, 0, FIRST + 90, FIRST + 1000)]) + extent(6)
    found = run(
        page, f'frame(rest[0]); return cover({window}).some(tile => tile.blocks.has("span"))', text(same)
    )
    assert found is False


LATER = {"committed": FIRST + 2000, "last": FIRST + 2000}


@pytest.mark.parametrize(("rows", "fetched"), [(1, False), (6_000, True)])
def test_an_open_tile_is_closed_when_it_is_over_and_fetched_again_where_it_has_many_rows(
    page: Page, server: Server, rows: int, fetched: bool
) -> None:
    server.answer = answering(lambda path: extent(5))
    window = f"{FIRST + 940}, {FIRST + 1000}"
    run(
        page, f"cover({window}); await until(() => cover({window}).length); await until(() => !tiles.loading)"
    )
    asked = len(server.asked)
    server.answer = answering(lambda path: extent(6, **LATER))
    # what comes with the batch that closes a tile is still in it
    last = spans([(1, 1, 0, 0, FIRST + 990, FIRST + 991)] * rows) + extent(6, **LATER)
    found = run(
        page,
        f"""frame(rest[0]); const before = rows(cover({window})).length;
        await until(() => cover({window}).every(tile => tile.closed)); return before""",
        text(last),
    )
    assert found == rows
    assert (len(server.asked) > asked) is fetched


def test_a_tile_that_fails_is_named_and_tried_again(page: Page, server: Server) -> None:
    failed: list[str] = []

    def answer(path: str) -> tuple[int, bytes]:
        if path in failed:
            return 200, extent()
        failed.append(path)
        return 500, b""

    server.answer = answer
    window = f"{FIRST + 470}, {FIRST + 530}"
    problem = run(page, f"cover({window}); await until(() => tiles.problem); return tiles.problem")
    assert "the server answered 500" in problem
    assert run(
        page, f"return until(() => {{ cover({window}); return tiles.problem === null && !tiles.loading; }})"
    )


def test_bytes_that_are_no_tile_are_an_error_not_a_picture(page: Page, server: Server) -> None:
    server.answer = answering(lambda path: encode("busy", 0, []))
    problem = run(
        page, f"cover({FIRST}, {FIRST + 60}); await until(() => tiles.problem); return tiles.problem"
    )
    assert "without its extent" in problem


def test_memory_is_bounded_and_what_is_on_the_screen_stays(page: Page) -> None:
    kept = page.evaluate(
        """async () => {
          const { TileStore, makeTile, tileKey } = await import("/frontend/timeline/tiles/tile_store.js");
          const store = new TileStore(1000);
          for (let index = 0; index < 50; index++) {
            const tile = makeTile("spans", 20, index, true, []);
            const entry = { tile, key: tileKey("spans", 20, index), bytes: 100, sequence: 0, version: 0,
              appended: 0, stale: false };
            store.put(entry, key => key === "spans/20/0");
          }
          return [store.bytes, [...store.entries()].map(entry => entry.tile.index)];
        }"""
    )
    assert kept == [1000, [0, *range(41, 50)]]


def test_finer_tiles_that_cover_a_place_stand_in_for_the_coarser_one(page: Page) -> None:
    levels = page.evaluate(
        """async () => {
          const { TileStore, makeTile, tileKey } = await import("/frontend/timeline/tiles/tile_store.js");
          const store = new TileStore();
          const rest = { bytes: 1, sequence: 0, version: 0, appended: 0, stale: false };
          const put = (level, index) => store.put({ tile: makeTile("spans", level, index, true, []),
            key: tileKey("spans", level, index), ...rest }, () => true);
          put(19, 8); put(18, 18); put(18, 19);
          const finer = store.best("spans", 20, 4).map(tile => [tile.level, tile.index]);
          put(22, 1);
          const clipped = store.best("spans", 20, 5).map(tile => [tile.level, tile.start, tile.stop]);
          return [finer, clipped];
        }"""
    )
    width = 512 * 2**20 / 1e6
    assert levels == [[[19, 8], [18, 18], [18, 19]], [[22, 5 * width, 6 * width]]]


def test_a_batch_of_one_band_is_added_to_its_tiles_alone(page: Page, server: Server) -> None:
    server.answer = answering(lambda path: extent(sequence=1))
    script = f"""
      const look = layer => tiles.cover(layer, layer, {FIRST + 990}, {FIRST + 1000}, 1000);
      tiles.begin(1);
      await until(() => look("spans").length && look("spans.1").length && look("prefixes").length);
      frame(rest[0]);
      return ["spans", "spans.1", "prefixes"].map(layer => Math.max(...look(layer).map(tile =>
        (tile.blocks.get("span") ?? []).length)));
    """
    data = spans([(1, 1, 0, 0, FIRST + 995, FIRST + 996)], layer="spans.1") + extent(sequence=2)
    assert run(page, script, text(data)) == [0, 1, 1]


def test_a_live_profile_is_added_to_its_tile(page: Page, server: Server) -> None:
    at = FIRST + 990
    server.answer = answering(lambda path: extent(5) + profile([(at, 1, 1, 0, 7, 3)]))
    told = [profile([(at + 1, 1, 1, 0, 7, 4)]) + extent(6), profile([(at, 1, 1, 0, 7, 3)]) + extent(5)]
    counts = run(
        page,
        f"""const found = () => tiles.cover("page", "profile", {FIRST + 940}, {FIRST + 1000}, 1000);
        const counts = () => found().flatMap(tile => (tile.blocks.get("profile") ?? []).flatMap(block =>
          [...block.numbers("count")].filter((_, row) => block.numbers("time")[row] >= tile.start &&
            block.numbers("time")[row] < tile.stop)));
        await until(() => counts().length);
        for (const data of rest[0]) frame(data);
        return counts();""",
        [text(frame) for frame in told],
    )
    assert counts == [3, 4]


def test_finer_tiles_of_a_profile_than_its_seconds_are_not_asked_for(page: Page, server: Server) -> None:
    server.answer = answering(lambda path: extent())
    run(
        page,
        f"""const found = () => tiles.cover("page", "profile", {FIRST + 10}, {FIRST + 10.5}, 1000);
        found(); await until(() => found().length)""",
    )
    assert {level_of(path) for path in server.asked} == {14}
