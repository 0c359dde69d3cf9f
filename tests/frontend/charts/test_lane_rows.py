"""Where the rows of the task stream lie, from a few threads to a thousand workers."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

LAY_OUT = """async ([workers, lanes, room, filter, open, sorted]) => {
  const { layoutLanes } = await import("/frontend/charts/task_stream/lane_rows.js");
  const { Model } = await import("/frontend/timeline/model.js");
  const model = new Model();
  model.load({ workers, lanes, prefixes: [], series: {} });
  const rank = sorted ? worker => -worker.started : null;
  const layout = layoutLanes(model, 0, 1000, room, { filter, open: new Set(open), rank });
  const groups = layout.groups.map(group => ({ ...group, workers: group.workers.map(w => w.id) }));
  return { ...layout, groups };
}"""


def lay_out(
    page: Page,
    hosts: int,
    workers: int,
    threads: int,
    room: int = 500,
    filter: str = "",
    open: list[str] | None = None,
    is_sorted: bool = False,
    half_died: bool = False,
) -> dict[str, Any]:
    """`workers` on each host. Of `half_died` each second one ended before the next one started."""
    all_workers, lanes = [], []
    for number in range(hosts * workers):
        host = f"10.0.0.{number // workers}"
        worker = {
            "id": number + 1,
            "address": f"tcp://{host}:{4000 + number}",
            "name": str(number),
            "host": host,
            "nthreads": threads,
            "memory_limit": 0,
            "started": 600 if half_died and number % 2 else number % 7,
            "ended": 500 if half_died and not number % 2 else None,
            "end_reason": "",
            "status": "paused" if number == 2 else "running",
        }
        all_workers.append(worker)
        for position in range(threads):
            lane = {
                "id": number * threads + position + 1,
                "worker": number + 1,
                "thread": 1,
                "position": position,
            }
            lanes.append(lane)
    answer: dict[str, Any] = page.evaluate(LAY_OUT, [all_workers, lanes, room, filter, open or [], is_sorted])
    return answer


def test_threads_that_fit_have_a_row_each(page: Page) -> None:
    layout = lay_out(page, hosts=1, workers=4, threads=2)
    assert [row["lanes"] for row in layout["rows"]] == [[n] for n in range(1, 9)]
    assert {row["threads"] for row in layout["rows"]} == {1}
    assert [group["folds"] for group in layout["groups"]] == [None] * 4


def test_more_threads_than_fit_are_a_row_a_worker(page: Page) -> None:
    layout = lay_out(page, hosts=2, workers=10, threads=8)
    assert len(layout["rows"]) == 20
    assert layout["rows"][1] == {"lanes": list(range(9, 17)), "threads": 8, "worker": 2}
    assert all(group["folds"] for group in layout["groups"])


def test_an_unfolded_worker_shows_its_threads_between_the_others(page: Page) -> None:
    layout = lay_out(page, hosts=2, workers=10, threads=8, open=["worker 2"])
    assert len(layout["rows"]) == 19 + 8
    assert [row["lanes"] for row in layout["rows"][1:9]] == [[n] for n in range(9, 17)]


def test_more_workers_than_fit_are_a_row_a_host_and_unfold_into_workers(page: Page) -> None:
    layout = lay_out(page, hosts=20, workers=50, threads=4)
    assert len(layout["rows"]) == 20
    assert layout["rows"][0]["threads"] == 200
    assert len(layout["rows"][0]["lanes"]) == 200
    unfolded = lay_out(page, hosts=20, workers=50, threads=4, open=["host 10.0.0.0"])
    assert len(unfolded["rows"]) == 20 + 50
    assert [group["depth"] for group in unfolded["groups"][:3]] == [0, 1, 1]


def test_every_lane_is_in_just_one_row_however_they_are_grouped(page: Page) -> None:
    for hosts, workers, threads in ((1, 3, 2), (1, 100, 4), (10, 10, 8), (40, 25, 2)):
        rows = lay_out(page, hosts, workers, threads)["rows"]
        lanes = sorted(lane for row in rows for lane in row["lanes"])
        assert lanes == list(range(1, hosts * workers * threads + 1))


def test_one_host_is_not_folded_into_one_row(page: Page) -> None:
    assert len(lay_out(page, hosts=1, workers=200, threads=4)["rows"]) == 200


def test_a_worker_that_came_again_is_not_counted_twice(page: Page) -> None:
    layout = lay_out(page, hosts=2, workers=50, threads=2, room=100, half_died=True)
    assert [row["threads"] for row in layout["rows"]] == [50, 50]


def test_workers_are_found_by_name_host_and_status(page: Page) -> None:
    for words, expected in (
        ("paused", [3]),
        ("10.0.0.1 running", [5, 6, 7, 8]),
        (":4003", [4]),
        ("nobody", []),
    ):
        groups = lay_out(page, hosts=2, workers=4, threads=1, filter=words)["groups"]
        assert sorted(worker for group in groups for worker in group["workers"]) == expected


def test_workers_are_sorted_by_what_people_choose(page: Page) -> None:
    groups = lay_out(page, hosts=1, workers=7, threads=1, is_sorted=True)["groups"]
    assert [group["workers"] for group in groups] == [[number] for number in range(7, 0, -1)]
