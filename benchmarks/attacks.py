"""Whether one project's tokens at their worst harm another project, which shares the installation.

A complete Observatory (`up`) has two projects. With the ingest token, the access token and the public link of
one, and as a member who is signed in, attackers send and ask for the worst that they can. Pages of the other
project are opened, and its agent sends a batch a second. Rounds of the attack alternate with rounds of a
program that does not touch the server and keeps the processor as busy as attackers and server were: what
pages take longer in the attack is Observatory's own contention, not that of the processor. The limits of
memory are those of deploy/kubernetes. `--minutes` selects the length of all rounds.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.attacking.bodies import Agent  # noqa: E402
from benchmarks.attacking.other_project import Pages, Reporting  # noqa: E402
from benchmarks.idle import program  # noqa: E402
from benchmarks.measuring.processor import cpu_seconds  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.measuring.server import new_observatory  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402

MINUTES = 60.0
ROUND, CONTROL = 60.0, 30.0
"""seconds"""
PAUSE = 0.5
"""seconds between two pages"""
RECORDED = 300
"""batches of each project's cluster before the attack"""
MOST_TIMES, MOST_SECONDS = 2.0, 2.0
MANIFESTS = ROOT / "deploy" / "kubernetes" / "base"
PROGRAMS = ("web", "collector", "worker", "alerts")
MEBIBYTE = 1 << 20
SET_UP = """
import json
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import Project
from observatory.clusters.tokens import access_tokens, ingest_tokens

def made(name):
    project = Project.objects.create(name=name, slug=name, retention_days=3650)
    user = User.objects.create_user(name)
    Membership.objects.create(project=project, user=user, role="owner")
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    scopes = ["targets", "runs", "exports"]
    return {
        "ingest": ingest_tokens.make(project, "t", user)[1],
        "access": access_tokens.make(user, "t", None, scopes)[1],
        "session": session.session_key,
    }

print(json.dumps({name: made(name) for name in ("attacker", "other")}))
"""
RUN_AND_LINK = """
import json
from datetime import timedelta
from django.contrib.auth.models import User
from observatory.clusters.models import Cluster
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.link_tokens import new_token
from observatory.runs.sharing import links

def made(name):
    cluster = Cluster.objects.get(project__slug=name)
    run = Run.objects.create(
        cluster=cluster, name="nightly", origin="cut", outcome="finished",
        start=cluster.last_seen - timedelta(seconds=300), stop=cluster.last_seen,
    )
    token = new_token()
    links.new_token = lambda: token
    shown = {"shows_logs": True, "shows_code": True, "shows_tracebacks": True}
    links.make_link(Permalink(run=run, audience="anyone", **shown), User.objects.get(username=name))
    return {"cluster": cluster.pk, "run": run.pk, "link": token}

print(json.dumps({name: made(name) for name in ("attacker", "other")}))
"""


def pages_of(cluster: int, run: int) -> dict[str, list[str]]:
    """The requests of each page, by its name; NOW is the time of the request."""
    timeline = f"/api/v1/clusters/{cluster}"
    window = "after=0&before=NOW"
    return {
        "clusters": ["/clusters/"],
        "runs": ["/runs/"],
        "a run": [f"/runs/{run}/"],
        "a timeline": [
            f"/clusters/{cluster}/",
            timeline,
            f"{timeline}/lanes",
            f"{timeline}/state?at=NOW",
            f"{timeline}/prefixes?{window}",
        ],
        "logs": [f"/clusters/{cluster}/logs/"],
        "why": [f"/api/v1/runs/{run}/timeline/findings"],
        "sign-in": ["/sign-in/"],
    }


def memory_limits() -> dict[str, float]:
    """MiB by program, out of the manifests: the last limit of each is that of the program itself."""
    limits = {}
    for name in PROGRAMS:
        text = (MANIFESTS / f"{name}.yaml").read_text()
        size, unit = re.findall(r"limits: \{memory: (\d+)(Mi|Gi)\}", text)[-1]
        limits[name] = float(size) * (1024 if unit == "Gi" else 1)
    return limits


class Memory(threading.Thread):
    """The most that each program of `up` takes (MiB)."""

    def __init__(self, up: psutil.Process) -> None:
        super().__init__(daemon=True)
        self.up = up
        self.most: Counter[str] = Counter()
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.wait(0.5):
            now: Counter[str] = Counter()
            for process in (self.up, *self.up.children(recursive=True)):
                try:
                    memory = process.memory_info()
                    now[program(process)] += (memory.rss - memory.shared) / MEBIBYTE
                except psutil.NoSuchProcess:
                    continue
            self.most |= now

    def stop(self) -> None:
        self.stopping.set()
        self.join()


@contextmanager
def running(module: str, *arguments: str, line: str = "") -> Iterator[subprocess.Popen[str]]:
    """A program of this folder, which ends with its input."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"benchmarks.attacking.{module}", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()
    try:
        yield process
    finally:
        if not process.stdin.closed:
            process.stdin.close()  # it ends its own processes then
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


class Rounds:
    """The other project's times in rounds of the attack and of the control."""

    def __init__(self, server: Observatory, made: dict[str, Any]) -> None:
        self.server, self.made = server, made
        self.up = psutil.Process(server.child("observatory web").ppid())
        self.attack: dict[str, list[float]] = {}
        self.control: dict[str, list[float]] = {}
        self.acknowledged: list[float] = []
        self.failures: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.busy: list[float] = []
        """cores that attackers and server kept busy in each round"""
        self.memory = Memory(self.up)

    def run(self, seconds: float, agent: Agent) -> None:
        ends = time.monotonic() + seconds
        self.memory.start()
        while time.monotonic() < ends:
            self._attack(agent)
            self._control(agent)
        self.memory.stop()

    def _attack(self, agent: Agent) -> None:
        attacker = self.made["attacker"]
        given = {
            "url": self.server.url,
            "ingest_token": attacker["ingest"],
            "access_token": attacker["access"],
            "others": [self.made["other"]["cluster"]],
            **{name: attacker[name] for name in ("link", "session", "cluster", "run")},
        }
        with running("attackers", line=json.dumps(given) + "\n") as attackers:
            client = psutil.Process(attackers.pid)
            time.sleep(5)  # until it is at its worst
            began, before = time.monotonic(), cpu_seconds(self.up) + cpu_seconds(client)
            self._observe(ROUND, agent, self.attack, self.acknowledged)
            spent = cpu_seconds(self.up) + cpu_seconds(client) - before
            self.busy.append(max(0.1, spent / (time.monotonic() - began)))
            output, _ = attackers.communicate(timeout=60)
        self.answers.update(json.loads(output))

    def _control(self, agent: Agent) -> None:
        settled = time.monotonic() + 60
        while psutil_cores(self.up) > 0.5 and time.monotonic() < settled:
            pass  # what the attack left is worked off
        with running("burner", f"{self.busy[-1]:.3f}"):
            time.sleep(2)
            self._observe(CONTROL, agent, self.control, [])

    def _observe(
        self, seconds: float, agent: Agent, times: dict[str, list[float]], acknowledged: list[float]
    ) -> None:
        other = self.made["other"]
        pages = Pages(self.server.url, other["session"], pages_of(other["cluster"], other["run"]), PAUSE)
        reporting = Reporting(self.server.url, other["ingest"], agent)
        for thread in (pages, reporting):
            thread.start()
        time.sleep(seconds)
        for thread in (pages, reporting):
            thread.stop()
            self.failures.update(thread.failures)
        for name, found in pages.times.items():
            times.setdefault(name, []).extend(found)
        acknowledged += reporting.times


def psutil_cores(process: psutil.Process) -> float:
    """Cores that the process and its descendants keep busy, over two seconds."""
    before = cpu_seconds(process)
    time.sleep(2)
    return (cpu_seconds(process) - before) / 2


def results(rounds: Rounds) -> Iterator[Result]:
    peer = "an equally busy program"
    for name, times in rounds.attack.items():
        ratio = statistics.median(times) / statistics.median(rounds.control[name])
        yield Result(f"another project's page: {name}", peer, round(ratio, 2), MOST_TIMES)
    late = sorted(rounds.acknowledged)[int(len(rounds.acknowledged) * 0.95)]
    what = "another project's agent: time to an acknowledgement (s, 95 %)"
    yield Result(what, "the limit", round(late, 2), MOST_SECONDS)
    yield Result(
        "another project's requests: share that failed",
        "all",
        round(rounds.failures.total() / max(1, sum(map(len, rounds.attack.values()))), 4),
        0,
    )
    for name, limit in memory_limits().items():
        what = f"memory of {name} (MiB)"
        yield Result(what, "deploy/kubernetes", round(rounds.memory.most[name]), limit)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    minutes: float = parser.parse_args().minutes
    with new_observatory() as (server, _):
        made = json.loads(server.manage("shell", "-v", "0", "-c", SET_UP).splitlines()[-1])
        agents = {}
        for name in made:
            agent = agents[name] = Agent(f"{name}-scheduler")
            reporting = Reporting(server.url, made[name]["ingest"], agent)
            for number in range(RECORDED):
                reporting.send(agent.work(200, at=time.time() - RECORDED + number))
        more = json.loads(server.manage("shell", "-v", "0", "-c", RUN_AND_LINK).splitlines()[-1])
        rounds = Rounds(server, {name: {**made[name], **more[name]} for name in made})
        rounds.run(minutes * 60, agents["other"])
    return print_results(
        "attacks",
        list(results(rounds)),
        ("uvicorn", "psycopg", "aiohttp"),
        minutes=minutes,
        busy=[round(cores, 2) for cores in rounds.busy],
        acknowledged={
            "median": round(statistics.median(rounds.acknowledged), 2),
            "most": round(max(rounds.acknowledged), 2),
        },
        seconds={
            name: [round(statistics.median(found[name]), 3) for found in (rounds.control, rounds.attack)]
            for name in rounds.attack
        },
        memory={name: round(size) for name, size in rounds.memory.most.items()},
        failures=rounds.failures,
        answers=rounds.answers,
    )


if __name__ == "__main__":
    sys.exit(main())
