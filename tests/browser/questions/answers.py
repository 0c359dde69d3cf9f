"""The answers to the questions of docs/dashboards.md: how somebody finds each, and what it must say."""

from __future__ import annotations

import getpass
import re
import statistics
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.questions import recording
from tests.browser.questions.recording import Known
from tests.browser.questions.visitor import Visitor, amount

Answer = Callable[[Visitor, Known], None]
ANSWERS: dict[str, Answer] = {}
MOST_GROUPS = 40
LEAST_SHARE, LEAST_CONTENTION = 2, 10
"""percents, also on a busy machine"""
LEAST_TICK = 0.03
"""seconds between two ticks of a blocked event loop; 0.02 of another one"""


def answers(question: str) -> Callable[[Answer], Answer]:
    def register(answer: Answer) -> Answer:
        ANSWERS[question] = answer
        return answer

    return register


def row(table: Locator, text: str) -> Locator:
    return table.locator("tbody tr").filter(has_text=text).first


def cell(row: Locator, number: int) -> str:
    return row.locator("th, td").nth(number).inner_text()


def share_of(visitor: Visitor, function: str) -> float:
    """The percents of a profile that a function of the workload has."""
    line = (
        visitor.chart("profile")
        .locator("tbody tr")
        .filter(has=visitor.page.get_by_role("button", name=function, exact=True))
    )
    expect(line).to_contain_text("workload.py")
    return amount(cell(line, 3))


@answers("Which prefix is slow?")
def slow_prefix(visitor: Visitor, known: Known) -> None:
    visitor.open_tab("Tasks")
    first = visitor.page.get_by_role("table", name="prefixes").locator("tbody tr").first
    slowest, seconds = known.slowest_prefix
    expect(first.locator(".row-name")).to_have_text(slowest)
    assert amount(cell(first, 4)) == pytest.approx(seconds, rel=0.02)
    visitor.found()


@answers("How long do the tasks of a prefix take?")
def durations(visitor: Visitor, known: Known) -> None:
    visitor.open_tab("Tasks")
    nap = row(visitor.page.get_by_role("table", name="prefixes"), "nap")
    took = sorted(known.durations("nap"))
    assert len(took) == recording.NAPS + 1
    assert cell(nap, 3) == str(len(took))
    assert amount(cell(nap, 6)) == pytest.approx(took[0], rel=0.02)
    assert amount(cell(nap, 7)) == pytest.approx(statistics.median(took), rel=0.02)
    assert amount(cell(nap, 9)) == pytest.approx(took[-1], rel=0.02)
    expect(nap.locator(".duration-bars")).to_have_attribute(
        "aria-label", re.compile(f"{len(took)} tasks: the shortest .*, median ")
    )
    visitor.found()


@answers("Which task straggled, and where?")
def straggler(visitor: Visitor, known: Known) -> None:
    seconds = max(known.durations("nap"))
    visitor.chart("task-stream")  # whose tiles the list is made of
    visitor.page.wait_for_function("() => observatory.context.stragglers.list.length")
    listed = visitor.chart("stragglers").locator("li").filter(has_text=recording.STRAGGLER)
    assert known.computed_on(recording.STRAGGLER) == "bob"
    expect(listed).to_contain_text("bob")
    visitor.found()
    visitor.open_tab("Why?")
    waited = row(visitor.chart("waited-for"), recording.STRAGGLER)
    expect(waited).to_contain_text("bob")
    longest = (recording.ALL_THREADS - 1) * seconds
    # on a loaded machine the other threads have work for longer, and wait less
    assert 0.1 * longest < amount(cell(waited, 1)) < 1.05 * longest
    visitor.found()
    visitor.start()
    visitor.open_tab("Tasks")
    visitor.click(visitor.page.get_by_role("button", name="Details of nap", exact=True))
    slowest = visitor.page.get_by_role("table", name="slowest tasks").locator("tbody tr").first
    expect(slowest).to_contain_text(recording.STRAGGLER)
    expect(slowest).to_contain_text("bob")
    assert amount(cell(slowest, 1)) == pytest.approx(seconds, rel=0.02)
    visitor.found()


@answers("Where is key K, in which of all clusters?")
def key(visitor: Visitor, known: Known) -> None:
    visitor.click(visitor.page.get_by_role("searchbox", name="Search tasks, runs, clusters"))
    visitor.page.keyboard.type(recording.STRAGGLER)
    visitor.page.keyboard.press("Enter")
    tasks = visitor.page.locator("[data-found=tasks]")
    expect(tasks.get_by_role("heading", name=recording.CLUSTER)).to_be_visible()
    expect(tasks.locator("[data-task]")).to_have_count(1)
    expect(tasks.locator(f"[data-task={recording.STRAGGLER}]")).to_contain_text(
        known.computed_on(recording.STRAGGLER)
    )
    visitor.found()


@answers("Who sent what to whom, how fast?")
def transfers(visitor: Visitor, known: Known) -> None:
    visitor.open_tab("Transfers")
    pair = visitor.chart("transfer-pairs").locator("tbody tr").first
    expect(pair).to_contain_text("alice → bob")
    nbytes, count = known.transferred("alice", "bob")
    assert nbytes > recording.BLOB
    assert amount(cell(pair, 1)) == pytest.approx(nbytes, rel=0.01)
    assert int(cell(pair, 2)) == count
    speed = amount(cell(pair, 4))
    assert speed == pytest.approx(amount(cell(pair, 1)) / amount(cell(pair, 3)), rel=0.05)
    visitor.found()


@answers("Which task waited for which data?")
def waiting_task(visitor: Visitor, known: Known) -> None:
    visitor.open_tab("Transfers")
    largest = visitor.chart("largest-transfers").locator("tbody tr").first
    shown = [cell(largest, number) for number in (0, 1, 2, 6)]
    sender, receiver = known.computed_on("blob-1"), known.computed_on("measure-1")
    assert [text.strip("▸ ") for text in shown] == ["blob-1", sender, receiver, "measure-1"]
    assert amount(cell(largest, 3)) == pytest.approx(known.seen.nbytes()["blob"], rel=0.01)
    visitor.found()


@answers("Which shuffle moved what?")
def shuffle(visitor: Visitor, known: Known) -> None:
    visitor.open_tab("Transfers")
    rows = visitor.chart("shuffles").locator("tbody tr")
    expect(rows).to_have_count(1)
    rows_of, chunk = recording.ARRAY[0], recording.CHUNK
    expect(rows.first).to_contain_text(re.compile(f"rechunk of \\w+ into chunks of {rows_of} × {chunk}"))
    expect(rows.first).to_contain_text("recording.py:")
    size = 8 * recording.ARRAY[0] * recording.ARRAY[1]
    assert 0.3 * size < amount(cell(rows.first, 6)) < 1.2 * size
    visitor.found()


@answers("What was stolen?")
def stolen(visitor: Visitor, known: Known) -> None:
    assert known.stolen
    count = visitor.chart("stolen").locator(".panel-instant")
    expect(count).to_have_text(re.compile("[1-9]"))
    assert int(count.inner_text()) >= len(known.stolen), "a task can be stolen again"
    visitor.found()
    visitor.open_tab("Transfers")
    names = visitor.chart("steals").locator("tbody th")
    expect(names).not_to_have_count(0)
    assert set(names.all_inner_texts()) == known.stolen
    visitor.found()


@answers("What used the memory?")
def memory(visitor: Visitor, known: Known) -> None:
    time = known.middle("blob in memory")
    visitor.open_tab("Memory")
    by_prefix = visitor.pointed("prefix-memory", time)
    assert list(by_prefix)[:2] == ["kept", "blob"]
    held = known.seen.results(time)
    assert amount(by_prefix["kept"]) == pytest.approx(held["kept-1"], rel=0.01)
    assert amount(by_prefix["blob"]) == pytest.approx(held["blob-1"], rel=0.01)
    assert next(iter(visitor.pointed("memory", time))) == "bob"
    managed = amount(visitor.pointed("cluster-memory", time)["managed"])
    least = recording.KEPT + recording.BLOB
    assert 0.95 * least < managed < 1.05 * (least + recording.BLOB), "the copy that was measured may be there"
    visitor.found()
    visitor.start()
    visitor.open_tab("Tasks")
    kept = row(visitor.page.get_by_role("table", name="prefixes"), "kept")
    assert amount(cell(kept, 14)) == pytest.approx(known.seen.nbytes()["kept"], rel=0.01)
    visitor.found()


@answers("When were threads idle, and why?")
def idle(visitor: Visitor, known: Known) -> None:
    crunched, slept = (known.moments[name][0] for name in ("gil", "blob in memory"))
    shares = [visitor.overview_share("crunch", at + 0.5, at + 1.0) for at in (crunched, slept)]
    assert 0.1 < shares[0] <= recording.THREADS / recording.ALL_THREADS
    assert shares[1] == 0
    visitor.found()
    visitor.open_tab("Why?")
    kinds = visitor.chart("thread-times").get_by_role("table")
    nothing = amount(cell(row(kinds, "nothing to do"), 1))
    waiting = amount(cell(row(kinds, "waiting for other tasks"), 1))
    assert nothing >= recording.ALL_THREADS * recording.IDLE
    assert waiting >= (recording.ALL_THREADS - 1) * recording.LONG_NAP * 0.8
    visitor.found()


@answers("Who held the GIL?")
def gil(visitor: Visitor, known: Known) -> None:
    visitor.open_tab("Contention")
    contended = visitor.pointed("gil", known.within("gil", 0.8))  # heartbeats tell of it a second later
    alice, *others = (amount(contended[name]) for name in recording.WORKERS)
    assert alice > LEAST_CONTENTION
    assert alice > max(others)
    assert share_of(visitor, "crunch") > LEAST_SHARE
    visitor.found()


@answers("Where did the time of tasks go?")
def fine_performance(visitor: Visitor, known: Known) -> None:
    visitor.open_tab("Contention")
    table = visitor.chart("fine-performance").get_by_role("table")
    spent = [amount(cell(row(table, f"crunchthread-{kind}"), 2)) for kind in ("cpu", "noncpu")]
    assert sum(spent) == pytest.approx(sum(known.durations("crunch")), rel=0.1)
    visitor.found()


@answers("Was the scheduler busy?")
def busy_scheduler(visitor: Visitor, known: Known) -> None:
    start, stop = known.moments["busy scheduler"][1], known.stop  # nothing is sampled before it is over
    # the stall is one sample, which comes soon after it, or later on a busy machine
    soon = min(start + 8, stop)
    times = [start + (soon - start) * step / 24 for step in range(25)]
    times += [soon + (stop - soon) * step / 9 for step in range(1, 9)]
    visitor.open_tab("Contention")
    assert visitor.highest("event-loop", "scheduler", times) > LEAST_TICK
    visitor.found()
    visitor.start()
    visitor.open_tab("System")
    idle = amount(visitor.pointed("scheduler-cpu", known.middle("blob in memory"))["scheduler"])
    assert visitor.highest("scheduler-cpu", "scheduler", times) > idle
    visitor.found()


@answers("What did the logs say meanwhile?")
def logs(visitor: Visitor, known: Known) -> None:
    visitor.open_tab("Logs")
    line = visitor.chart("logs").locator("tr", has_text="measured a blob")
    expect(line).to_contain_text(f"measured a blob of {recording.BLOB} bytes")
    expect(line).to_contain_text("bob")
    visitor.found()


@answers("Which code ran?")
def code(visitor: Visitor, known: Known) -> None:
    visitor.open_tab("Profile")
    assert share_of(visitor, "crunch") > LEAST_SHARE
    assert share_of(visitor, "nap") > LEAST_SHARE
    visitor.found()


@answers("What code submitted this?")
def submitted(visitor: Visitor, known: Known) -> None:
    visitor.open_card()
    visitor.click(visitor.page.locator(".run-card-code summary"))
    expect(visitor.page.locator(".run-card-code")).to_contain_text("client.map(workload.nap")
    visitor.found()


@answers("How many workers and threads did it have?")
def size(visitor: Visitor, known: Known) -> None:
    slots = len(set(known.lifetimes.names.values()))
    shown = visitor.pointed("cluster-size", known.middle("straggler"))
    assert (shown["workers"], shown["threads"]) == (str(slots), str(recording.THREADS * slots))
    visitor.found()
    visitor.open_card()
    lifetimes = slots + len(known.died)
    expect(visitor.page.locator("#run-card")).to_contain_text(f"{slots} ({lifetimes} lifetimes)")
    visitor.found()


@answers("Why did a worker die?")
def death(visitor: Visitor, known: Known) -> None:
    [(address, time)] = known.died
    visitor.click_at(visitor.chart("events").locator("canvas"), time)
    told = visitor.chart("events").locator(".tooltip")
    expect(told).to_contain_text("was killed by SIGKILL")
    expect(told).to_contain_text("carol")
    visitor.found()
    visitor.start()
    visitor.open_tab("Errors")
    visitor.click(visitor.page.get_by_role("link", name="KilledWorker"))
    died = visitor.page.locator("[data-worker]")
    expect(died).to_have_count(1)
    expect(died).to_have_attribute("data-worker", address)
    expect(died).to_contain_text("was killed by SIGKILL")
    visitor.found()


@answers("Do workers differ in their versions?")
def versions(visitor: Visitor, known: Known) -> None:
    visitor.open_tab("System")
    lz4 = visitor.chart("environment").locator("tbody tr").filter(has_text="lz4")
    expect(lz4).to_contain_text("differs")
    expect(lz4).to_contain_text(recording.VERSION)
    note = visitor.chart("environment").get_by_text("1 difference between the processes.")
    expect(note).to_be_visible()
    visitor.found()


@answers("What failed first, and has it failed before?")
def failed_first(visitor: Visitor, known: Known) -> None:
    expect(visitor.page.locator("#run-headline")).to_contain_text(re.compile("ValueError:? bad row 7"))
    visitor.found()
    visitor.open_tab("Errors")
    kinds = visitor.page.locator("[data-groups] tbody tr")
    failed = known.seen.failed()
    assert min(failed, key=lambda one: one[1])[0] == "check-7"
    expect(kinds).to_have_count(len(failed))
    expect(kinds.last).to_contain_text("ValueError")
    visitor.found()
    visitor.start()
    visitor.click(visitor.page.get_by_role("navigation", name="Main").get_by_role("link", name="Errors"))
    kind = visitor.page.locator("[data-kinds] tbody tr").filter(has_text="ValueError")
    expect(kind).to_contain_text("ValueError in check (workload.py:47): 2 errors in 2 runs")
    visitor.found()


@answers("Is it slower than yesterday?")
def slower(visitor: Visitor, known: Known) -> None:
    verdict = visitor.page.locator("#run-headline .run-verdict").inner_text()
    usual = statistics.median(known.earlier_seconds)
    times, told = verdict.split(" times as long as usual")
    assert float(times) == pytest.approx((known.stop - known.start) / usual, rel=0.3)
    assert told.startswith(" since 3f2a1c (0b9d44 before)")
    visitor.found()
    visitor.open_tab("Compare")
    visitor.click(visitor.page.get_by_role("link", name="Compare with the median of the 3 previous runs"))
    nap = visitor.page.locator("tr[data-prefix=nap]")
    expect(nap).to_have_attribute("data-verdict", "slower")
    visitor.found()


@answers("What was in memory at 12:03, by key?")
def results(visitor: Visitor, known: Known) -> None:
    visitor.open_tab("Memory")
    visitor.click_at(visitor.chart("memory").locator("canvas").first, known.middle("blob in memory"))
    rows = visitor.chart("results-now").locator("tbody tr")
    held = known.seen.results(known.middle("blob in memory"))
    largest = sorted(held, key=lambda key: -held[key])
    expect(rows).to_have_count(len(held))
    assert [cell(rows.nth(number), 0) for number in range(len(held))] == largest
    for number, key in enumerate(largest):
        assert amount(cell(rows.nth(number), 3)) == pytest.approx(held[key], rel=0.01)
        assert cell(rows.nth(number), 2) == known.computed_on(key)
    visitor.found()


@answers("What does the graph look like, and where did it wait?")
def graph(visitor: Visitor, known: Known) -> None:
    visitor.open_tab("Graph")
    chart = visitor.chart("graph")
    told = chart.locator("[aria-live]")
    expect(told).to_contain_text("groups and")
    chart.get_by_role("application").focus()
    for _ in range(MOST_GROUPS):
        visitor.page.keyboard.press("ArrowRight")
        if told.inner_text().startswith("gather:"):
            break
    waited = re.search("waiting for what it needs ([^,]+),", told.inner_text())
    assert waited
    assert amount(waited[1]) == pytest.approx(recording.LONG_NAP, rel=0.2)
    visitor.found()
    visitor.choose(chart.get_by_role("combobox"), "time waiting for what it needs")
    longest = chart.locator(".graph-legend").inner_text().split(" to ")[1]
    assert amount(longest) >= recording.LONG_NAP
    visitor.found()


@answers("What did this cost?")
def cost(visitor: Visitor, known: Known) -> None:
    visitor.open_card()
    told = visitor.page.get_by_role("link", name="EUR")
    assert float(told.inner_text().split()[0]) == pytest.approx(known.thread_seconds, rel=0.05)
    visitor.found()
    visitor.click(told)
    mine = row(visitor.page.locator("#usage-groups"), getpass.getuser())
    others = recording.ALL_THREADS * (sum(known.earlier_seconds) + known.other_seconds)
    assert float(mine.locator("td").last.inner_text().split()[0]) == pytest.approx(
        known.thread_seconds + others, rel=0.05
    )
    visitor.found()
