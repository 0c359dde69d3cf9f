"""What of the cluster's events a window shows."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

MADE = """
  const { Events } = await import("/frontend/timeline/events.js");
  const block = (kind, rows, meta = {}) => ({ kind, rows: rows.length, meta,
    numbers: name => rows.map(row => row[name] ?? -1),
    texts: name => ({ at: row => rows[row][name] ?? "{}" }) });
  const tile = (start, stop, ...blocks) =>
    ({ layer: "events", start, stop, blocks: new Map(blocks.map(block => [block.kind, [block]])) });
  const erred = { bin: 1, count: 1000, kind: "tasks-erred" };
  const counted = block("event-count", [erred], { level: 20, index: 0 });
  const whole = tile(0, 512, block("event", [{ time: 400, kind: "worker-lost" }]), counted);
  const window = tile(0, 8, block("event", [1, 2, 3].map(time => ({ time, kind: "tasks-erred" }))));
  const shown = list => list.map(({ time, kind, count }) => [Math.round(time), kind, count]);
"""


def made(page: Page, script: str) -> Any:
    return page.evaluate(f"async () => {{ {MADE} {script} }}")


def test_what_the_whole_clusters_tiles_only_count_is_told_by_the_windows(page: Page) -> None:
    assert made(
        page,
        """const events = new Events(); events.load([whole]);
        events.setNotes([{ time: 2.4, stop: null, text: "look", author: "ada" }]);
        const within = [[window], []].map(tiles => shown(events.within(tiles)));
        return [shown(events.list), events.areCounted, ...within];""",
    ) == [
        [[2, "tasks-erred", 1000], [2, "note", 1], [400, "worker-lost", 1]],
        True,
        [[1, "tasks-erred", 1], [2, "tasks-erred", 1], [2, "note", 1], [3, "tasks-erred", 1]],
        [[2, "tasks-erred", 1000], [2, "note", 1], [400, "worker-lost", 1]],
    ]


def test_where_all_are_told_no_further_tiles_are_wanted(page: Page) -> None:
    assert made(
        page,
        """const { eventsTrack } = await import("/frontend/charts/events/track.js");
        const few = new Events(), many = new Events();
        few.load([window]); many.load([whole]);
        return [few, many].map(events => eventsTrack.layers({ events }));""",
    ) == [[], ["events"]]
