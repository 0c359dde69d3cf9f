"""The answers to the questions of docs/dashboards.md by an assistant without a model, from tools alone."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tests.assistants.assistant import Assistant
from tests.browser.questions import recording
from tests.browser.questions.recording import Known

Answer = Callable[[Assistant, Known, int], None]
ANSWERS: dict[str, Answer] = {}


def answers(question: str) -> Callable[[Answer], Answer]:
    def register(answer: Answer) -> Answer:
        ANSWERS[question] = answer
        return answer

    return register


def named(found: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    """The first entry of a list that has the wanted values."""
    return next(each for each in found if wanted.items() <= each.items())


def seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def iso(time: float) -> str:
    return datetime.fromtimestamp(time).astimezone().isoformat()


@answers("Which prefix is slow?")
def slow_prefix(assistant: Assistant, known: Known, run: int) -> None:
    first = assistant.data("prefixes", run=run)["prefixes"][0]
    slowest, took = known.slowest_prefix
    assert first["prefix"] == slowest
    assert first["compute_thread_seconds"] == pytest.approx(took, rel=0.02)


@answers("How long do the tasks of a prefix take?")
def durations(assistant: Assistant, known: Known, run: int) -> None:
    nap = named(assistant.data("prefixes", run=run)["prefixes"], prefix="nap")
    took = sorted(known.durations("nap"))
    assert nap["tasks"] == len(took)
    assert nap["shortest_seconds"] == pytest.approx(took[0], rel=0.02)
    assert nap["median_seconds"] == pytest.approx(statistics.median(took), rel=0.02)
    assert nap["longest_seconds"] == pytest.approx(took[-1], rel=0.02)


@answers("Which task straggled, and where?")
def straggler(assistant: Assistant, known: Known, run: int) -> None:
    found = assistant.data("why", run=run)
    for listed in ("stragglers", "waited_for"):
        task = named(found[listed], key=recording.STRAGGLER)
        assert task["worker"] == "bob"
        assert task["duration_seconds"] == pytest.approx(max(known.durations("nap")), rel=0.02)


@answers("Where is key K, in which of all clusters?")
def key(assistant: Assistant, known: Known, run: int) -> None:
    [cluster] = assistant.data("search", text=recording.STRAGGLER)["tasks"]
    assert cluster["cluster_name"] == recording.CLUSTER
    [task] = cluster["tasks"]
    assert (task["key"], task["worker"]) == (recording.STRAGGLER, "bob")


@answers("Who sent what to whom, how fast?")
def transfers(assistant: Assistant, known: Known, run: int) -> None:
    pair = assistant.data("transfers", run=run)["pairs"][0]
    assert (pair["from"], pair["to"]) == ("alice", "bob")
    assert pair["size_bytes"] == pytest.approx(recording.BLOB, rel=0.05)
    assert pair["bytes_per_second"] == pytest.approx(pair["size_bytes"] / pair["seconds"], rel=0.01)


@answers("Which task waited for which data?")
def waiting_task(assistant: Assistant, known: Known, run: int) -> None:
    largest = assistant.data("transfers", run=run)["largest"][0]
    assert (largest["keys"], largest["waiting_task"]) == (["blob-1"], "measure-1")
    story = assistant.data("task", run=run, key="measure-1")
    assert [each["key"] for each in story["needs"]["tasks"]] == ["blob-1"]
    assert story["fetched"][0]["from_worker"] == "alice"


@answers("Which shuffle moved what?")
def shuffle(assistant: Assistant, known: Known, run: int) -> None:
    [found] = assistant.data("transfers", run=run)["shuffles"]
    size = 8 * recording.ARRAY[0] * recording.ARRAY[1]
    assert 0.3 * size < found["comm_written_bytes"] < 1.2 * size
    assert known.start < seconds(found["first"]) < seconds(found["last"]) < known.stop


@answers("What was stolen?")
def stolen(assistant: Assistant, known: Known, run: int) -> None:
    steals = assistant.data("transfers", run=run)["steals"]
    assert {each["key"] for each in steals["stolen"]} == known.stolen
    assert steals["attempts_by_outcome"]["confirm"] == steals["stolen_tasks"]


@answers("What used the memory?")
def memory(assistant: Assistant, known: Known, run: int) -> None:
    found = assistant.data("memory", run=run, at=iso(known.middle("blob in memory")))
    assert list(found["bytes_by_prefix"])[:2] == ["kept", "blob"]
    assert found["bytes_by_prefix"]["kept"] == pytest.approx(recording.KEPT, rel=0.01)
    most = max(found["workers"], key=lambda each: each["memory_bytes"] or 0)
    assert most["worker"] == "bob"
    whole = assistant.data("metrics", run=run, metric="observatory_cluster_memory_bytes", labels="managed")
    managed = named(whole["series"], labels={"type": "managed"})
    assert managed["greatest"] >= 0.95 * (recording.KEPT + recording.BLOB)


@answers("When were threads idle, and why?")
def idle(assistant: Assistant, known: Known, run: int) -> None:
    start, stop = known.moments["blob in memory"]
    asleep = assistant.data("why", run=run, start=iso(start + 0.3), stop=iso(stop))["thread_seconds"]
    assert "computing" not in asleep
    whole = assistant.data("why", run=run)["thread_seconds"]
    assert whole["waiting for other tasks"] >= (recording.ALL_THREADS - 1) * recording.LONG_NAP * 0.8
    clients = sum(each for kind, each in whole.items() if kind.startswith(("client", "nothing")))
    assert clients >= recording.ALL_THREADS * recording.IDLE


@answers("Who held the GIL?")
def gil(assistant: Assistant, known: Known, run: int) -> None:
    start, stop = known.moments["gil"]
    found = assistant.data(
        "metrics",
        run=run,
        metric="observatory_worker_gil_contention_ratio",
        start=iso(start + 1),
        stop=iso(stop),
    )
    first, *others = found["series"]
    assert first["worker"] == "alice"
    assert first["mean"] > max((each["mean"] for each in others), default=0)
    assert "crunch" in [each["function"] for each in assistant.data("why", run=run)["functions"]]


@answers("Where did the time of tasks go?")
def fine_performance(assistant: Assistant, known: Known, run: int) -> None:
    found = assistant.data("prefixes", run=run, prefix="crunch")["where_its_time_went"]
    spent = sum(each["seconds"] for each in found if each["activity"].startswith("thread-"))
    assert spent == pytest.approx(sum(known.durations("crunch")), rel=0.1)


@answers("Was the scheduler busy?")
def busy_scheduler(assistant: Assistant, known: Known, run: int) -> None:
    metric = "observatory_scheduler_event_loop_interval_seconds"
    [found] = assistant.data("metrics", run=run, metric=metric)["series"]
    assert found["greatest"] > 0.03
    assert found["greatest"] > found["least"]


@answers("What did the logs say meanwhile?")
def logs(assistant: Assistant, known: Known, run: int) -> None:
    [line] = assistant.data("logs", run=run, match="measured a blob", level="warning")["lines"]
    assert line["message"] == f"measured a blob of {recording.BLOB} bytes"
    assert line["worker"] == "bob"


@answers("Which code ran?")
def code(assistant: Assistant, known: Known, run: int) -> None:
    functions = assistant.data("why", run=run)["functions"]
    for name in ("nap", "crunch"):
        assert named(functions, function=name)["share"] > 0.02
        assert named(functions, function=name)["file"].endswith("workload.py")


@answers("What code submitted this?")
def submitted(assistant: Assistant, known: Known, run: int) -> None:
    assert "client.map(workload.nap" in assistant.data("run_card", run=run)["code"]


@answers("How many workers and threads did it have?")
def size(assistant: Assistant, known: Known, run: int) -> None:
    card = assistant.data("run_card", run=run)
    slots = len(set(known.lifetimes.names.values()))
    assert (card["workers"], card["threads"]) == (slots, recording.THREADS * slots)
    assert card["worker_lifetimes"] == slots + len(known.died)


@answers("Why did a worker die?")
def death(assistant: Assistant, known: Known, run: int) -> None:
    [(address, _)] = known.died
    found = assistant.data("alerts_and_events", run=run, match="killed")
    [event] = [each for each in found["events"] if each["kind"] == "worker-restarted"]
    assert event["worker"] == "carol"
    assert f"the process of {address} was killed by SIGKILL" in event["message"]
    ended = named(assistant.data("workers", run=run)["workers"], address=address)
    assert ended["end_reason"] == "lost"
    killed = named(assistant.data("errors", run=run)["first_errors"], exception="KilledWorker")
    assert killed["key"] == "die-1"


@answers("Do workers differ in their versions?")
def versions(assistant: Assistant, known: Known, run: int) -> None:
    [lz4] = [each for each in assistant.data("workers", run=run)["differences"] if each["kind"] == "version"]
    assert lz4["name"] == "lz4"
    assert named(lz4["values"], value=recording.VERSION)["workers"] == ["bob"]


@answers("What failed first, and has it failed before?")
def failed_first(assistant: Assistant, known: Known, run: int) -> None:
    found = assistant.data("errors", run=run)
    first = found["first_errors"][0]
    assert (first["exception"], first["message"], first["key"]) == ("ValueError", "bad row 7", "check-7")
    kind = named(found["kinds"], exception_type="ValueError")
    assert (kind["failed_attempts"], kind["runs"]) == (2, 2)
    assert seconds(kind["first"]) < known.start
    [smoke] = assistant.data("find_runs", name="smoke test", with_errors=True)["runs"]
    assert smoke["errors"] == 1


@answers("Is it slower than yesterday?")
def slower(assistant: Assistant, known: Known, run: int) -> None:
    verdict = assistant.data("run_card", run=run)["against_earlier_runs"]["verdict"]
    assert "times as long as usual since 3f2a1c (0b9d44 before)" in verdict
    found = assistant.data("compare_runs", run=run, last=3)
    duration = named(found["figures"], name="Duration")
    assert duration["b"] == pytest.approx(statistics.median(known.earlier_seconds), rel=0.3)
    assert named(found["prefixes"], prefix="nap")["verdict"] == "slower"
    assert named(found["differ"], name="git")["b"] == "0b9d44"


@answers("What was in memory at 12:03, by key?")
def results(assistant: Assistant, known: Known, run: int) -> None:
    found = assistant.data("memory", run=run, at=known.middle("blob in memory") - known.start)
    assert [each["key"] for each in found["results"]][:2] == ["kept-1", "blob-1"]
    assert [each["worker"] for each in found["results"]][:2] == ["bob", "alice"]
    assert found["results_in_memory"]["results"] == 3


@answers("What does the graph look like, and where did it wait?")
def graph(assistant: Assistant, known: Known, run: int) -> None:
    gather = named(assistant.data("prefixes", run=run)["prefixes"], prefix="gather")
    assert gather["needs"] == ["nap"]
    assert gather["waiting_for_what_it_needs_seconds"] == pytest.approx(recording.LONG_NAP, rel=0.2)
    pieces = assistant.data("critical_path", run=run)["longest_pieces"]
    assert named(pieces, key=recording.STRAGGLER)["duration_seconds"] > 0.9 * recording.LONG_NAP


@answers("What did this cost?")
def cost(assistant: Assistant, known: Known, run: int) -> None:
    found = assistant.data("run_card", run=run)["cost"]
    assert found["currency"] == "EUR"
    assert found["amount"] == pytest.approx(known.thread_seconds, rel=0.05)
