"""Whether Observatory grows over hours: memory, open files, connections, keys in Valkey, time to answer.

A complete Observatory runs the demo with its agent, CLUSTERS further clusters come and go, PAGES pages follow
the demo live and ask for tiles and states, and the ready-made alert rules are evaluated. Before, as many
clusters come and go as a page of a list has rows: while it fills, the page takes longer. Each sampled series
gets a Theil-Sen slope with its confidence interval; a limit is missed when the lower bound of the growth per
hour is above what is allowed. `--minutes` selects the length. A run of less than an hour only shows that
nothing grows fast. Prints a table to standard error.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.soaking.growth import Growth, growth  # noqa: E402
from benchmarks.soaking.load import Clusters, Pages  # noqa: E402
from benchmarks.soaking.sampler import Sampler  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402

MINUTES = 240.0
CLUSTERS_PER_HOUR = 25
ROWS_OF_PAGE = 50
PAGES = 20
SAMPLES = 200
LEAST_INTERVAL = 3.0
"""seconds between two samples"""
ALLOWED = 0.05
"""growth per hour that is not shown to be exceeded, as a share of the median"""
SIGN_IN = """
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
user, _ = User.objects.get_or_create(username="soak", defaults={"is_superuser": True})
session = SessionStore()
session[SESSION_KEY] = str(user.pk)
session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
session[HASH_SESSION_KEY] = user.get_session_auth_hash()
session.create()
print(session.session_key)
"""
DEMO = """
    SELECT min(cluster.id) FROM clusters_cluster cluster
    JOIN clusters_project project ON project.id = cluster.project_id WHERE NOT project.is_own
"""

Series = dict[str, list[tuple[float, float]]]
"""times in seconds and values, by name"""


def soak(server: Observatory, seconds: float) -> tuple[Series, dict[str, Any]]:
    session = server.manage("shell", "-v", "0", "-c", SIGN_IN).strip()
    demo = int(str(server.query(DEMO)))
    up = psutil.Process(server.child("observatory web").ppid())
    sampler = Sampler(server, up, session, demo)
    clusters = Clusters(server, max(1, round(CLUSTERS_PER_HOUR * seconds / 3600)), seconds)
    clusters.fill(ROWS_OF_PAGE)
    clusters.start()
    pages = Pages(server, session, demo, PAGES)
    pages.start()
    found: Series = defaultdict(list)
    began = time.monotonic()
    try:
        while time.monotonic() - began < seconds:
            due = time.monotonic() + max(LEAST_INTERVAL, seconds / SAMPLES)
            for name, value in sampler.sample().items():
                found[name].append((time.monotonic() - began, value))
            time.sleep(max(0.0, due - time.monotonic()))
    finally:
        clusters.stop()
        received = pages.stop()
    details = {"clusters": clusters.started_clusters, "received by pages": received}
    return found, details


def results(series: Series) -> Iterable[tuple[Result, Growth]]:
    for name, samples in sorted(series.items()):
        found = growth([at for at, _ in samples], [value for _, value in samples])
        if found is not None:
            what = f"growth an hour: {name}"
            yield (
                Result(what, "–", round(found.low, 3), round(found.limit(ALLOWED), 3)),
                found,
            )


def print_table(found: Iterable[tuple[Result, Growth]]) -> None:
    print(f"{'series':<58} {'median':>10} {'per hour':>10} {'95 % interval':>23}", file=sys.stderr)
    for result, slope in found:
        name = result.what.removeprefix("growth an hour: ")
        interval = f"{slope.low:+.2f} … {slope.high:+.2f}"
        verdict = "flat" if result.is_reached else "GROWS"
        row = f"{name:<58} {slope.median:>10.2f} {slope.slope:>+10.2f} {interval:>23} {verdict}"
        print(row, file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--samples", type=Path, help="a file for all samples: series, seconds, value as TSV")
    given = parser.parse_args()
    minutes: float = given.minutes
    folder = Path(tempfile.mkdtemp(prefix="observatory-soak-"))
    server = Observatory(folder / "data")
    try:
        server.start("--demo")
        series, details = soak(server, minutes * 60)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    if given.samples is not None:
        rows = [f"{name}\t{at:.1f}\t{value:.6g}\n" for name, known in series.items() for at, value in known]
        given.samples.write_text("".join(rows))
    found = list(results(series))
    if not found:
        sys.exit("too few samples: run it for longer, or on a machine with less to do")
    print_table(found)
    libraries = ("distributed", "scipy", "uvicorn", "celery")
    return print_results("soak", [result for result, _ in found], libraries, minutes=minutes, **details)


if __name__ == "__main__":
    sys.exit(main())
