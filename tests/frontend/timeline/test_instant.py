"""The state at the playhead: the latest instant wins, without flooding the server or starving the page."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page

from tests.frontend.conftest import Server

SETUP = """async script => {
  const { Instant } = await import("/frontend/timeline/instant.js");
  const instant = new Instant({ url: "/api/v1/clusters/1", ask: (...asked) => fetch(...asked) });
  const still = { live: false, playing: false }, playing = { live: false, playing: true };
  const live = { live: true, playing: false };
  const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));
  const until = async at => {
    for (let turn = 0; turn < 200 && instant.state?.at !== at; turn++) await sleep(25);
  };
  return new (Object.getPrototypeOf(async () => {}).constructor)(
    "instant", "still", "playing", "live", "sleep", "until", script
  )(instant, still, playing, live, sleep, until);
}"""


def asked(server: Server) -> list[float]:
    return [float(parse_qs(urlsplit(path).query)["at"][0]) for path in server.asked]


def answer(path: str) -> tuple[int, bytes]:
    return 200, json.dumps({"at": float(parse_qs(urlsplit(path).query)["at"][0])}).encode()


def run(page: Page, script: str) -> Any:
    return page.evaluate(SETUP, script)


def test_of_many_instants_in_a_moment_the_last_is_asked_for(page: Page, server: Server) -> None:
    server.answer = answer
    shown = run(
        page,
        """for (let at = 1; at <= 50; at++) instant.request(at, still);
        await until(50); return instant.state.at""",
    )
    assert shown == 50
    assert asked(server) == [50]


def test_no_more_than_four_questions_a_second(page: Page, server: Server) -> None:
    server.answer = answer
    run(page, "for (let n = 0; n < 100; n++) { instant.request(1000 + n, playing); await sleep(10); }")
    assert len(server.asked) <= 6


def test_a_slow_server_does_not_starve_a_page_that_plays(page: Page, server: Server) -> None:
    def slow(path: str) -> tuple[int, bytes]:
        time.sleep(0.6)
        return answer(path)

    server.answer = slow
    shown = run(
        page,
        """const shown = []; instant.addEventListener("change", () => shown.push(instant.state.at));
        for (let n = 0; n < 200; n++) { instant.request(1000 + n, playing); await sleep(10); }
        await until(1199); return shown""",
    )
    assert len(shown) >= 3
    assert shown == sorted(shown)
    assert shown[-1] == 1199


def test_going_elsewhere_gives_up_the_answer_that_is_on_its_way(page: Page, server: Server) -> None:
    def slow(path: str) -> tuple[int, bytes]:
        time.sleep(1.5 if "at=1." in path else 0)
        return answer(path)

    server.answer = slow
    shown = run(
        page,
        """const shown = []; instant.addEventListener("change", () => shown.push(instant.state.at));
        instant.request(1, still); await sleep(300); instant.request(2, still); await sleep(2000);
        return shown""",
    )
    assert shown == [2]


def test_an_instant_that_was_answered_is_not_asked_for_again(page: Page, server: Server) -> None:
    server.answer = answer
    run(page, "for (const at of [1, 2, 1, 2]) { instant.request(at, still); await until(at); }")
    assert asked(server) == [1, 2]
    server.asked.clear()
    run(page, "instant.request(1, still); await until(1); instant.forget(); await sleep(600);")
    assert asked(server) == [1, 1]


def test_a_question_that_failed_is_asked_again(page: Page, server: Server) -> None:
    server.answer = lambda path: answer(path) if len(server.asked) > 1 else (503, b"")
    assert run(page, "instant.request(7, still); await until(7); return instant.state.at") == 7


def test_while_the_socket_tells_the_state_it_is_not_asked_for(page: Page, server: Server) -> None:
    server.answer = answer
    shown = run(
        page,
        """const shown = []; instant.addEventListener("change", () => shown.push(instant.state.at));
        instant.tell({ at: 1 });
        for (let n = 0; n < 30; n++) {
          if (n === 15) instant.tell({ at: 2 });
          instant.request(1 + n / 10, live);
          await sleep(50);
        }
        return shown""",
    )
    assert shown == [1, 2]
    assert asked(server) == []


def test_who_looks_at_the_past_is_shown_that_and_not_the_state_now(page: Page, server: Server) -> None:
    server.answer = answer
    shown = run(
        page,
        """instant.request(9, live); instant.tell({ at: 9 }); instant.request(5, still); await until(5);
        instant.tell({ at: 10 }); return instant.state.at""",
    )
    assert shown == 5


def test_a_live_page_asks_once_the_socket_tells_nothing_any_more(page: Page, server: Server) -> None:
    server.answer = answer
    run(page, "instant.tell({ at: 1 }); await sleep(3100); instant.request(4, live); await until(4);")
    assert asked(server) == [4]


def test_what_is_due_is_sent_before_the_page_draws_and_what_is_not_waits(page: Page, server: Server) -> None:
    server.answer = answer
    run(
        page,
        """instant.request(1, still); instant.ask(); instant.ask();
        const drawn = performance.now(); while (performance.now() < drawn + 300);
        await until(1);
        // however long the answer takes: the next question isn't due yet
        const held = performance.now(); performance.now = () => held;
        instant.request(2, still); await until(2);
        instant.request(3, playing); instant.ask(); instant.request(4, playing);
        delete performance.now; await until(4);""",
    )
    assert asked(server) == [1, 2, 4]
