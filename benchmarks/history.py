"""Server time of every list, search and history with CLUSTERS ended clusters and RUNS runs in the database.

Each page and list of the API is asked for once and then three times in this process, without the network, by
a superuser, the searches also by an owner of all projects. What it takes is the CPU time of this process and
of PostgreSQL's sessions: on a quiet machine nothing else happens. Prints one JSON line, with the milliseconds
of each. DATABASE_URL names the server; otherwise the embedded one is started.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.measuring.django_setup import set_up

os.environ["OBSERVATORY_LOCAL_CHANNELS"] = "1"
set_up()

from django.contrib.auth.models import User  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402

from benchmarks.measuring.answers import Cost, cost_of  # noqa: E402
from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.simulated.recorded_history import store_history  # noqa: E402
from observatory.alerts.models import Alert  # noqa: E402
from observatory.runs.models import Run  # noqa: E402

DATABASE = "observatory_benchmark_history"
CLUSTERS, RUNS = int(os.environ.get("CLUSTERS", "10000")), int(os.environ.get("RUNS", "100000"))
LIST_LIMIT, SEARCH_LIMIT = 200, 300
"""ms"""


def lists(run: Run) -> list[str]:
    """Every list; `run` is one of the middle."""
    cluster, last = run.cluster_id, RUNS // 50
    return [
        *("/clusters/", f"/clusters/?page={CLUSTERS // 50}", "/clusters/?search=cluster+77"),
        *("/clusters/?state=live", "/clusters/?state=ended", "/clusters/?project=team-3"),
        *("/runs/", f"/runs/?page={last // 2}", f"/runs/?page={last}", "/runs/?order=-duration"),
        *("/runs/?order=-tasks", "/runs/?order=name", f"/runs/?name={run.name}", "/runs/?name=nosuch"),
        *("/runs/?tag=branch%3Dbranch-7", "/runs/?outcome=erred", "/runs/?project=team-3"),
        *("/runs/?finding=stragglers", "/runs/?user=user7", f"/clusters/{cluster}/runs/"),
        f"/runs/history/?project={run.cluster.project.slug}&name={run.name}",
        *(f"/runs/compare/?a={run.pk}", f"/runs/compare/?a={run.pk}&search=etl", f"/runs/{run.pk}/"),
        *("/alerts/", "/alerts/?state=resolved", "/alerts/?state=resolved&page=20"),
        f"/alerts/{Alert.objects.latest('pk').pk}/",
        *("/errors/", "/errors/?days=", "/errors/?text=nosuch", "/runs/finding-marks/"),
        *("/projects/", "/projects/team-3/", "/targets/", "/audit/", "/audit/?text=nosuch", "/usage/"),
        *("/usage/?project=team-3", "/import/", "/account/tokens/"),
        *(f"/clusters/{cluster}/logs/", f"/clusters/{cluster}/logs/?text=nosuch"),
        *(f"/clusters/{cluster}/errors/", f"/clusters/{cluster}/tasks/?q=inc"),
        *("/api/v1/clusters", "/api/v1/runs", f"/api/v1/runs?page={last}", "/api/v1/runs?page_size=200"),
        *("/api/v1/alerts", "/api/v1/errors", "/api/v1/audit", "/api/v1/usage", "/api/v1/projects"),
        *("/api/v1/targets", "/api/v1/finding-marks"),
    ]


def searches(run: Run) -> list[str]:
    words = ("nosuchthing", run.name, "cluster+77", "inc", "branch-7")
    return [f"/search/?q={word}" for word in words]


OF_ADMIN = [
    *("/admin/", "/admin/clusters/cluster/", "/admin/clusters/target/", "/admin/clusters/project/"),
    *("/admin/alerts/rule/", "/admin/alerts/silence/", "/admin/alerts/delivery/"),
]


def measure() -> int:
    person, root = User.objects.create_user("person"), User.objects.create_superuser("root")
    store_history(CLUSTERS, RUNS, person)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")
    run = Run.objects.select_related("cluster__project").order_by("start")[RUNS // 2]
    costs: dict[str, dict[str, Cost]] = {"lists": {}, "lists of the admin": {}, "search": {}}
    for user in (person, root):
        client = Client(headers={"host": "localhost"})
        client.force_login(user)
        client.get("/account/tokens/")
        costs["search"] |= {f"{user} {path}": cost_of(client, path) for path in searches(run)}
    costs["lists"] = {path: cost_of(client, path) for path in lists(run)}
    costs["lists of the admin"] = {path: cost_of(client, path) for path in OF_ADMIN}
    what = f"{CLUSTERS:,} ended clusters, {RUNS:,} runs"
    limits = {"lists": LIST_LIMIT, "lists of the admin": LIST_LIMIT, "search": SEARCH_LIMIT}
    results = [
        Result(
            f"{what}: {kind}, slowest of {len(found)} (ms)",
            "limit",
            round(1e3 * max(cost.processor for cost in found.values())),
            limits[kind],
        )
        for kind, found in costs.items()
    ]
    detail = {
        path: {name: round(1e3 * getattr(cost, name)) for name in Cost.__slots__}
        for found in costs.values()
        for path, cost in found.items()
    }
    return print_results("history", results, ("psycopg", "django"), milliseconds=detail)


def main() -> int:
    with own_database(DATABASE):
        return measure()


if __name__ == "__main__":
    sys.exit(main())
