"""How much longer a notebook's cell of a second takes with `%%observe`, and how soon its panel is there.

A real kernel runs the same cell with and without it, in turns, on a cluster whose agent reports to an
Observatory, which the panel asks while the cell runs. The tasks wait, so that a busy machine changes them
little. Prints one JSON line; the exit code is 1 if a limit was missed. ROUNDS sets the number of pairs.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.measuring.server import new_observatory  # noqa: E402
from tests.client.kernel import Kernel, kernel  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "10"))
LIMIT, FIRST_PAINT = 1.02, 1.0
PREPARE = """
import time
import observatory.agent
from distributed import Client, LocalCluster
cluster = LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0")
client = Client(cluster)
observatory.agent.register(client, url={url!r}, token={token!r}, name="cells")
%load_ext observatory
"""
CELL = """results = client.gather(client.map(lambda number: time.sleep(0.1), range(40), pure=False))"""
ACCESS_TOKEN = (
    "from django.contrib.auth.models import User; from observatory.clusters.tokens import access_tokens; "
    "print(access_tokens.make(User.objects.get(), 'cells', None)[1])"
)
APART = 3.0
"""seconds between two cells: the card of the one before is there, or is asked for each two seconds"""


def seconds_of(kernel: Kernel, code: str) -> tuple[float, float]:
    """How long a cell took, and until its first output (0 without one)."""
    cell = kernel.run(code)
    assert not cell.error, cell
    time.sleep(APART)
    assert cell.seconds is not None
    return cell.seconds, cell.first_output or 0.0


def lower_quartile(times: list[float]) -> float:
    """Of a time to which other programs of the machine can only add."""
    return statistics.quantiles(times, n=4)[0]


def main() -> int:
    with new_observatory() as (server, token), tempfile.TemporaryDirectory() as folder:
        access = server.manage("shell", "-v", "0", "-c", ACCESS_TOKEN).splitlines()[-1]
        variables = {"OBSERVATORY_URL": server.url, "OBSERVATORY_ACCESS_TOKEN": access}
        with kernel(Path(folder), **variables) as cells:
            cells.run(PREPARE.format(url=server.url, token=token))
            first = seconds_of(cells, f"%%observe\n{CELL}")
            plain, observed, paints = [], [], []
            for number in range(ROUNDS):
                for is_observed in (number % 2 == 0, number % 2 == 1):
                    taken, paint = seconds_of(cells, f"%%observe\n{CELL}" if is_observed else CELL)
                    (observed if is_observed else plain).append(taken)
                    if is_observed:
                        paints.append(paint)
    ratio = lower_quartile(observed) / lower_quartile(plain)
    results = [
        Result(
            "a cell of a second with %%observe (lower quartile)",
            "the same cell without it",
            round(ratio, 4),
            LIMIT,
        ),
        Result("the panel is there (s, longest)", "limit", round(max(first[1], *paints), 3), FIRST_PAINT),
    ]
    details = {"first": first, "observed": sorted(observed), "plain": sorted(plain)}
    return print_results("observed_cell", results, ("distributed", "ipykernel", "anywidget"), **details)


if __name__ == "__main__":
    sys.exit(main())
