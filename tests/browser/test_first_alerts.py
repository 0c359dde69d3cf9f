"""The walk-through at the top of docs/alerts.md: a webhook and four rules, made in Chromium as it says.

Then an agent reports a night in which each rule fires. What the webhook hears and what is stored is compared
with computations over the stored samples, errors and runs that share nothing with the evaluation.
"""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from observatory.wire.batches import encode_head, encode_rows
from observatory.wire.head import Head
from observatory.wire.kinds import KINDS
from tests.alerts.notifying.receivers import WEBHOOK, Receiver, receiving
from tests.browser.observatory import Observatory
from tests.runtime.machine import eventually

pytestmark = pytest.mark.browser

WORKERS = ("tcp://10.0.0.1:4000", "tcp://10.0.0.2:4000")
LIMIT = 1000.0
NIGHT = 300
"""seconds that are reported"""
MEMORY, ERRORS, QUEUE, SLOWER = "Full worker", "Errors", "Queue grows", "Nightly is slower"
MOST_STEPS = 12
"""for a rule: a choice, an entry or a press each; under two minutes for somebody who reads them"""

Firing = tuple[float, float | None, float]
"""when it fired and was resolved, and its value"""


class Walk:
    """Counts what somebody does on the page."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url, self.steps = page, url, 0

    def choose(self, label: str, option: str, place: int = 0) -> None:
        self.page.get_by_label(label, exact=True).nth(place).select_option(label=option)
        self.steps += 1

    def enter(self, label: str, text: str, place: int = 0) -> None:
        self.page.get_by_label(label, exact=True).nth(place).fill(text)
        self.steps += 1

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()
        self.steps += 1

    @contextmanager
    def adding(self, what: str) -> Iterator[None]:
        """From the list of rules or channels to the saved one."""
        self.page.goto(f"{self.url}/admin/alerts/{what}/add/")
        self.steps = 2  # Rules, Add
        yield
        self.page.wait_for_url(lambda url: not url.endswith("/add/"))
        assert self.steps <= MOST_STEPS


def test_the_first_page_leads_to_four_rules_whose_firings_are_exact(
    observatory: Observatory, page: Page
) -> None:
    with receiving(WEBHOOK) as hook:
        observatory.start()
        observatory.sign_in(page)
        walk_through(Walk(page, observatory.url), hook)
        # as if that had been ten minutes ago
        observatory.rows("UPDATE alerts_rule SET changed = changed - interval '10 min' RETURNING id")
        began = report_a_night(observatory)
        with saying_what_is_stored(observatory):
            for rule in (MEMORY, ERRORS, QUEUE, SLOWER):
                eventually(lambda rule=rule: heard(hook, rule), f"the webhook hears of “{rule}”", 240)
            for rule in (MEMORY, ERRORS, QUEUE):
                eventually(
                    lambda rule=rule: heard(hook, rule, "resolved"), f"and of the end of “{rule}”", 240
                )
        for rule, expected in {
            MEMORY: memory_firings,
            ERRORS: error_firings,
            QUEUE: queue_firings,
            SLOWER: slower_firings,
        }.items():
            found = [
                (fired - began, None if resolved is None else resolved - began, value)
                for fired, resolved, value in stored_firings(observatory, rule)
            ]
            assert found == [approximate(firing, began) for firing in expected(observatory)], rule
            told = {datetime.fromisoformat(alert["startsAt"]).timestamp() for alert in heard(hook, rule)}
            assert sorted(told) == [pytest.approx(fired + began, abs=0.001) for fired, *_ in found], rule


@contextmanager
def saying_what_is_stored(observatory: Observatory) -> Iterator[None]:
    """Whether the evaluation, a run or the delivery is missing when the webhook hears nothing."""
    try:
        yield
    except AssertionError as error:
        for query in (
            "SELECT name, changed, error FROM alerts_rule",
            "SELECT cluster_id, until, settled, is_over FROM alerts_progress",
            "SELECT rule_id, cluster_id, pending, fired, resolved, value FROM alerts_alert",
            "SELECT change, state, attempts, last_error FROM alerts_delivery",
            "SELECT name, start, stop, counted FROM runs_run",
        ):
            error.add_note(f"{query}: {observatory.rows(query)}"[:2000])
        raise


def walk_through(walk: Walk, hook: Receiver) -> None:
    """The numbered steps of docs/alerts.md."""
    with walk.adding("channel"):
        walk.page.locator("#id_name").fill("my hook")
        walk.page.locator("#id_kind").select_option("webhook")
        walk.page.locator("#id_address").fill(hook.url)
        walk.press("Save and send a test")
    eventually(lambda: heard(hook, "Test"), "the webhook gets the test")
    with walk.adding("rule"):
        expect(walk.page.get_by_label("quantity", exact=True).first).to_be_focused()
        walk.choose("quantity", "Process memory of a worker, share of its limit")
        walk.enter("threshold", "80 %")
        walk.enter("for how long", "30 s")
        walk.page.locator("#id_name").fill(MEMORY)
        walk.press("Save")
    with walk.adding("rule"):
        walk.choose("quantity", "Tasks that erred")
        walk.enter("how many times", "4")
        walk.enter("window", "1 min")
        walk.page.locator("#id_name").fill(ERRORS)
        walk.press("Save")
    with walk.adding("rule"):
        walk.choose("quantity", "Queued tasks: growth in a minute")
        walk.press("And another condition")
        walk.choose("quantity", "Idle workers, share of all", 1)
        walk.enter("threshold", "0", 1)
        walk.enter("for how long", "10 s")
        walk.page.locator("#id_name").fill(QUEUE)
        walk.press("Save")
    with walk.adding("rule"):
        walk.choose("quantity", "Duration of a run: slower than usual")
        walk.enter("names of runs", "nightly*")
        walk.page.locator("#id_name").fill(SLOWER)
        walk.press("Save")


def report_a_night(observatory: Observatory) -> float:
    """Five minutes of a cluster, up to now, as an agent reports them. Returns their start."""
    began = float(int(time.time()) - NIGHT)
    token = observatory.manage("ingest_token", "default").strip()
    head = Head(
        uuid4().hex, 1, "Scheduler-night", "night", "tcp://10.0.0.9:8786", began, began, began + NIGHT
    )
    rows: dict[str, list[tuple[Any, ...]]] = {
        "worker": [
            (began, address, f"w{number}", f"host{number}", 2, LIMIT, "running", "{}", "{}")
            for number, address in enumerate(WORKERS)
        ],
        "sample": list(samples(began)),
        "error": [
            (began + at, f"load-{number}", WORKERS[0], "erred", "ValueError", "no", "", 0, "[]", 0)
            for number, at in enumerate((150.25, 158.5, 163.0, 171.75, 190.0))
        ],
        "run": list(runs(began)),
    }
    body = encode_head(head) + b"".join(encode_rows(KINDS[kind], some) for kind, some in rows.items())
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
    request = urllib.request.Request(f"{observatory.url}/api/v1/ingest", body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200
    return began


def samples(began: float) -> Iterator[tuple[float, float, str]]:
    """Each second: a worker is over 80 % twice, first for less than 30 s; the queue grows from 200 on."""
    for second in range(NIGHT):
        full = 20 <= second < 40 or 60 <= second < 115
        for number, address in enumerate(WORKERS):
            memory = 870.0 + second % 7 if full and number == 0 else 400.0 + second % 5
            name = f'["observatory_worker_memory_bytes", {{"type": "process"}}, "{address}", 1]'
            yield began + second + 0.125, memory, name
        queued = float(max(0, min(second, 250) - 200) * 3)
        states = {"observatory_cluster_tasks": {"queued": queued}}
        states["observatory_cluster_workers"] = {"idle": float(210 < second < 270), "total": 2.0}
        for metric, values in states.items():
            for state, value in values.items():
                yield began + second, value, f'["{metric}", {{"state": "{state}"}}, "", 1]'


def runs(began: float) -> Iterator[tuple[Any, ...]]:
    """Starts and ends of five runs; the last takes half as long again as the others."""
    for place, (start, stop) in enumerate(((2, 12), (20, 31), (40, 50), (60, 69), (100, 115))):
        id, name = uuid4().hex, "nightly load"
        for outcome, at in (("running", start), ("finished", stop)):
            yield began + at, began + start, id, outcome, name, "{}", f"user{place}", "", ""


def heard(hook: Receiver, rule: str, status: str = "firing") -> list[dict[str, Any]]:
    """The alerts of a rule that a notification reported; an end includes its start."""
    found = [alert for body in list(hook.bodies) for alert in body["alerts"]]
    return [
        alert
        for alert in found
        if alert["labels"]["alertname"] == rule and (status == "firing" or alert["status"] == status)
    ]


def stored_firings(observatory: Observatory, rule: str) -> list[Firing]:
    return observatory.rows(
        f"""SELECT extract(epoch FROM fired)::float, extract(epoch FROM resolved)::float, value
            FROM alerts_alert JOIN alerts_rule ON alerts_rule.id = rule_id
            WHERE alerts_rule.name = '{rule}' AND fired IS NOT NULL ORDER BY fired"""
    )


def approximate(firing: Firing, began: float) -> Any:
    fired, resolved, value = firing
    end = None if resolved is None else pytest.approx(resolved - began, abs=1e-3)
    return (pytest.approx(fired - began, abs=1e-3), end, pytest.approx(value))


def curve(observatory: Observatory, metric: str, label: str, worker: str = "") -> list[tuple[float, float]]:
    """The samples of one series."""
    of_worker = f"AND worker.name = '{worker}'" if worker else ""
    return observatory.rows(
        f"""SELECT extract(epoch FROM time)::float, value FROM sample JOIN series ON series.id = series_id
            LEFT JOIN worker ON worker.id = series.worker_id
            WHERE metric = '{metric}' AND '{label}' IN (SELECT jsonb_each_text(labels::jsonb)::text)
            {of_worker} ORDER BY time"""
    )


def stretches(steps: list[tuple[float, bool]]) -> list[tuple[float, float]]:
    """From when until when a step function was true."""
    changes = [steps[0], *(later for earlier, later in pairwise(steps) if earlier[1] != later[1])]
    return [(start, stop) for (start, is_true), (stop, _) in pairwise(changes) if is_true]


def memory_firings(observatory: Observatory) -> list[Firing]:
    shares = {
        at: value / LIMIT
        for at, value in curve(observatory, "observatory_worker_memory_bytes", "(type,process)", "w0")
    }
    over = stretches([(at, share > 0.8) for at, share in shares.items()])
    held = [(start + 30, stop) for start, stop in over if stop - start >= 30]
    return [(at, stop, [share for time, share in shares.items() if time <= at][-1]) for at, stop in held]


def error_firings(observatory: Observatory) -> list[Firing]:
    times = [at for (at,) in observatory.rows("SELECT extract(epoch FROM time)::float FROM error ORDER BY 1")]

    def count(now: float) -> int:
        return sum(at <= now < at + 60 for at in times)

    steps = [(now, count(now) >= 4) for now in sorted([*times, *(at + 60 for at in times)])]
    return [(start, stop, count(start)) for start, stop in stretches(steps)]


def queue_firings(observatory: Observatory) -> list[Firing]:
    queued = dict(curve(observatory, "observatory_cluster_tasks", "(state,queued)"))
    idle = dict(curve(observatory, "observatory_cluster_workers", "(state,idle)"))
    first = min(queued)
    growth = {at: value - queued[max(at - 60, first)] for at, value in queued.items() if at > first}
    both = stretches([(at, more > 0 and idle[at] > 0) for at, more in growth.items()])
    held = [(start + 10, stop) for start, stop in both if stop - start >= 10]
    return [(at, stop, growth[at]) for at, stop in held]


def slower_firings(observatory: Observatory) -> list[Firing]:
    windows = observatory.rows(
        """SELECT extract(epoch FROM start)::float, extract(epoch FROM stop)::float
           FROM runs_run WHERE name LIKE 'nightly%' ORDER BY start"""
    )
    found: list[Firing] = []
    for place, (start, stop) in enumerate(windows):
        before = [end - begin for begin, end in windows[max(0, place - 10) : place]]
        if len(before) >= 3 and stop - start > 1.2 * median(before):
            found.append((stop, None, (stop - start) / median(before) - 1))
    return found
