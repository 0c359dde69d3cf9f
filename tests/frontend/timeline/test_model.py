"""What a cluster consists of, and what happened in it."""

from __future__ import annotations

from playwright.sync_api import Page

from observatory.wire.blocks import encode
from tests.frontend.timeline.make import BYTES_OF, FIRST, bins, events, text


def worker(
    id: int, name: str, started: float, ended: float | None = None, nthreads: int = 2
) -> dict[str, object]:
    return {"id": id, "name": name, "address": "", "nthreads": nthreads, "started": started, "ended": ended}


def test_live_blocks_add_to_what_was_loaded(page: Page) -> None:
    data = (
        encode("worker", 0, [], {"items": [worker(1, "w1", 0, ended=5), worker(2, "w2", 3)]})
        + encode("lane", 0, [], {"items": [{"id": 8, "worker": 2, "thread": 1, "position": 0}]})
        + encode("prefix", 0, [], {"items": [{"id": 4, "name": "inc", "color": "#112233"}]})
        + encode(
            "series", 0, [], {"items": [{"id": 9, "worker": 2, "metric": "m", "labels": {}, "interval": 1}]}
        )
        + bins("memory", [(9, FIRST, 1.0)])
    )
    found = page.evaluate(
        f"""async ([data, loaded]) => {{
          {BYTES_OF}
          const {{ Model }} = await import("/frontend/timeline/model.js");
          const {{ decode }} = await import("/frontend/timeline/tiles/blocks.js");
          const model = new Model();
          model.load(loaded);
          for (const block of decode(bytesOf(data))) model.apply(block);
          const ids = list => list.map(item => item.id);
          return [model.workers.get(1).ended, ids(model.lanesOf(2)), model.prefixName(4), model.color(4),
            ids(model.seriesOf("memory"))];
        }}""",
        [text(data), {"workers": [worker(1, "w1", 0)], "lanes": [], "prefixes": [], "series": {}}],
    )
    assert found == [5, [8], "inc", "#112233", [9]]


def test_workers_come_in_the_order_of_their_names_with_those_that_lived_in_the_window(page: Page) -> None:
    names, peak = page.evaluate(
        """async workers => {
          const { Model } = await import("/frontend/timeline/model.js");
          const model = new Model();
          model.load({ workers, lanes: [], prefixes: [], series: {} });
          return [model.workersBetween(10, 20).map(worker => worker.name), model.peakThreads(0, 100)];
        }""",
        [worker(1, "10", 0), worker(2, "2", 0), worker(3, "1", 0, ended=10), worker(4, "3", 20)],
    )
    assert names == ["2", "10"]
    assert peak == 6


def test_what_was_not_seen_is_a_gap_until_it_was_seen_again(page: Page) -> None:
    data = events(
        [
            (FIRST + 10, "stream-lost"),
            (FIRST + 12, "stream-lost"),
            (FIRST + 20, "stream-resumed"),
            (FIRST + 15, "worker-lost"),
            (FIRST + 30, "scheduler-unreachable"),
        ]
    )
    found = page.evaluate(
        f"""async ([data, first]) => {{
          {BYTES_OF}
          const {{ Events }} = await import("/frontend/timeline/events.js");
          const {{ decode }} = await import("/frontend/timeline/tiles/blocks.js");
          const events = new Events();
          events.load([{{ start: 0, stop: 1e12, blocks: new Map([["event", decode(bytesOf(data))]]) }}]);
          const gaps = events.gaps.map(gap => [gap.kind, gap.start - first, gap.stop && gap.stop - first]);
          const count = (from, to) => events.gapsBetween(first + from, first + to).length;
          return [gaps, events.after(first + 12).kind, events.before(first + 12).time - first,
            events.after(first + 30), count(16, 17), count(21, 29)];
        }}""",
        [text(data), FIRST],
    )
    assert found == [[["stream", 10, 20], ["scheduler", 30, None]], "worker-lost", 10, None, 1, 0]


def test_what_an_agent_dropped_is_a_gap_that_tells_how_much_and_why(page: Page) -> None:
    dropped = {
        "first": FIRST + 5,
        "last": FIRST + 25,
        "kind": "sample",
        "count": 1234,
        "reason": "spool-full",
    }
    data = events([(FIRST + 5, "records-dropped", dropped), (FIRST + 8, "worker-lost")])
    found = page.evaluate(
        f"""async ([data, first]) => {{
          {BYTES_OF}
          const {{ Events }} = await import("/frontend/timeline/events.js");
          const {{ decode }} = await import("/frontend/timeline/tiles/blocks.js");
          const events = new Events();
          events.load([{{ start: 0, stop: 1e12, blocks: new Map([["event", decode(bytesOf(data))]]) }}]);
          const [gap] = events.gaps;
          const count = what => events.gapsBetween(first + 10, first + 11, what).length;
          return [gap.start - first, gap.stop - first, gap.label, count("samples"), count("tasks"), count()];
        }}""",
        [text(data), FIRST],
    )
    assert found == [5, 25, "1,234 samples were dropped: the agent's spool was full", 1, 0, 1]


def test_the_spans_of_a_worker_are_in_the_band_of_its_position(page: Page) -> None:
    found = page.evaluate(
        """async () => {
          const { Model } = await import("/frontend/timeline/model.js");
          const model = new Model(10);
          const ids = [...Array(25).keys()];
          const workers = ids.map(id => ({ id: 100 - id, position: id, name: "", address: "", started: 0 }));
          const lanes = ids.map(id => ({ id, worker: 100 - id, thread: 1, position: 0 }));
          model.load({ workers: workers.slice(0, 10), lanes: lanes.slice(0, 10), prefixes: [], series: {} });
          const before = model.bands;
          model.load({ workers, lanes, prefixes: [], series: {} });
          return [before, model.bands, [0, 9, 10, 24].map(lane => model.spansLayer(lane))];
        }"""
    )
    assert found == [1, 3, ["spans", "spans", "spans.1", "spans.2"]]
