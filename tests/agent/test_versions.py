"""The agent in real clusters of other versions, where only distributed is installed."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from observatory.runtime.supervision.subprocesses import die_with_parent
from observatory.wire.clocks import TOLERANCE
from tests.agent.environments import ENVIRONMENTS, ROOT, Environment
from tests.agent.fake_server import TOKEN, FakeServer, fake_server

pytestmark = pytest.mark.long

RUN = Path(__file__).with_name("observed_run.py")


@contextmanager
def process(command: list[str], folder: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DASK", "OBSERVATORY"))}
    with (folder / "output").open("ab") as output:
        started = subprocess.Popen(
            command,
            cwd=folder,
            env={**kept, **environment},
            stdout=output,
            stderr=output,
            preexec_fn=die_with_parent(),
        )
    try:
        yield started
    finally:
        try:
            started.wait(30)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def observed(
    environment: Environment, folder: Path, received: FakeServer, is_preloaded: bool
) -> dict[str, Any]:
    """Runs a cluster with the agent, preloaded or registered by a client. Returns an independent record."""
    python = str(environment.interpreter())
    file = str(folder / "scheduler.json")
    settings = {"OBSERVATORY_URL": received.url, "OBSERVATORY_TOKEN": TOKEN, "OBSERVATORY_NAME": "preloaded"}
    scheduler = [python, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    scheduler += ["--no-dashboard", "--scheduler-file", file]
    worker = [python, "-m", "distributed.cli.dask_worker", "--scheduler-file", file, "--nthreads", "1"]
    worker += ["--host", "127.0.0.1", "--no-dashboard"]
    with ExitStack() as stack:
        if is_preloaded:
            there = {**settings, "PYTHONPATH": str(ROOT)}
            stack.enter_context(process([*scheduler, "--preload", "observatory.agent"], folder, **there))
        else:
            stack.enter_context(process(scheduler, folder))
        for _ in range(2):
            stack.enter_context(process(worker, folder))
        target = [] if is_preloaded else [received.url, TOKEN]
        done = subprocess.run(
            [python, str(RUN), file, *target],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert done.returncode == 0, done.stderr + (folder / "output").read_text()[-5000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def is_same_span(found: tuple[float, float], told: tuple[float, float]) -> bool:
    """Whether both are equal, or the one found is earlier: none ends after the scheduler heard of it."""
    early = told[1] - found[1]
    return -1e-5 < early < TOLERANCE and found[1] - found[0] == pytest.approx(told[1] - told[0], abs=1e-5)


def check(received: FakeServer, recorded: dict[str, Any]) -> None:
    rows = received.rows
    assert received.refused == 0
    assert rows["dropped"] == []
    assert received.heads[-1].is_last
    assert [head.sequence for head in received.heads] == list(range(1, len(received.heads) + 1))

    seen = Counter((row["key"], row["start"], row["finish"], row["stimulus"]) for row in rows["transition"])
    expected = Counter(tuple(row) for row in recorded["transitions"])
    assert expected <= seen
    assert sum(count for row, count in seen.items() if row in expected) == expected.total()
    spans = Counter((row["key"], row["start"], row["stop"]) for row in rows["span"])
    assert max(spans.values()) == 1
    stored: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows["span"]:
        stored[row["key"]].append((row["start"], row["stop"]))
    for key, _, start, stop in recorded["spans"]:
        assert any(is_same_span(found, (start, stop)) for found in stored[key])

    attempts = Counter(row["outcome"] for row in rows["error"] if "fail_for_sure" in row["key"])
    assert attempts == {"retried": 3, "erred": 3}
    error = next(row for row in rows["error"] if row["outcome"] == "erred")
    assert error["exception_type"] == "ValueError"
    assert error["message"].startswith("no ")
    assert "fail_for_sure" in error["traceback"]

    warned = Counter(row["message"] for row in rows["log"] if "of the run" in row["message"])
    assert warned == {f"warning {number} of the run": 1 for number in range(5)}
    assert {row["role"] for row in rows["log"]} == {"scheduler", "worker", "nanny"}

    workers = {row["address"]: row for row in rows["worker"]}
    assert len(workers) >= 3, "two, and the one that a nanny started after the death of the first"
    assert all(row["nthreads"] == 1 and row["detail"]["pid"] for row in workers.values())
    assert "lost" in {row["reason"] for row in rows["gone"]}
    [restarted] = [row for row in rows["event"] if row["kind"] == "worker-restarted"]
    assert restarted["detail"]["exitcode"] == 3

    busy = [row for row in rows["profile"] if row["prefix"] == "be_busy"]
    assert any("be_busy\t" in row["stack"] for row in busy)
    assert sum(row["count"] for row in busy) > 20
    assert any(row["source"] == "event-loop" for row in rows["profile"])
    assert {row["direction"] for row in rows["transfer"]} == {0, 1}
    assert max(row["nbytes"] for row in rows["transfer"]) >= 3_000_000
    metrics = {row["series"].split('"')[1] for row in rows["sample"]}
    assert {
        "observatory_worker_memory_bytes",
        "observatory_worker_cpu_percent",
        "observatory_worker_occupancy_seconds",
        "observatory_cluster_tasks",
        "observatory_scheduler_cpu_percent",
        "observatory_fine_performance_total",
    } <= metrics
    assert (
        sum(row["groups"][0][1] for row in rows["computation"] if row["groups"][0][0] == "increment") == 100
    )
    assert "the-run" in {row["detail"].get("topic") for row in rows["event"]}
    assert [(row["name"], row["outcome"]) for row in rows["run"]] == [
        ("the whole of it", "running"),
        ("the whole of it", "finished"),
    ]
    assert rows["run"][0]["tags"] == {"kind": "test"}


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: environment.name)
def test_preloaded_on_the_scheduler_only_the_agent_records_everything(
    environment: Environment, tmp_path: Path
) -> None:
    with fake_server() as received:
        recorded = observed(environment, tmp_path, received, is_preloaded=True)
        assert {head.name for head in received.heads} == {"preloaded"}
        check(received, recorded)


def test_registered_from_a_client_the_agent_needs_no_installation(tmp_path: Path) -> None:
    with fake_server() as received:
        recorded = observed(ENVIRONMENTS[0], tmp_path, received, is_preloaded=False)
        assert {head.name for head in received.heads} == {"registered"}
        check(received, recorded)


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: environment.name)
def test_programs_are_started_with_the_configuration_of_a_release(
    environment: Environment, tmp_path: Path
) -> None:
    file = tmp_path / "release.yaml"
    section = "{distributed: {scheduler: {work-stealing: false}, worker: {memory: {target: 0.5}}}}"
    file.write_text(f'release: a\nenvironment: {{A: "1"}}\nscheduler: {section}\nworker: {section}\n')
    python = str(environment.interpreter())
    code = (
        "import os, distributed; from dask.config import get; "
        "print(get('distributed.scheduler.work-stealing'), get('distributed.worker.memory.target'),"
        " get('distributed.scheduler.preload'), os.environ['A'])"
    )
    command = [python, "-m", "observatory", "exec", "scheduler", "--configuration", str(file), "--"]
    done = subprocess.run(
        [*command, python, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("False 0.5 ['observatory.agent'] 1\n", "")


@pytest.mark.skipif(
    "CI" not in os.environ, reason="what is installed on this machine is its owner's business"
)
def test_ci_has_at_least_one_python_besides_its_own() -> None:
    found = [environment for environment in ENVIRONMENTS if _is_here(environment)]
    assert found, "none of the interpreters that the agent is tested on is installed"


def _is_here(environment: Environment) -> bool:
    try:
        environment.interpreter()
    except pytest.skip.Exception:
        return False
    return True
