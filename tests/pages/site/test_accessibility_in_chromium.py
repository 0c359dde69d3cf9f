"""Pages have no findings of axe that keep people out: names, labels, roles, contrast on both themes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from playwright.sync_api import Page

from observatory.alerts.models import Rule
from observatory.clusters.accounts import invitations
from observatory.clusters.accounts.models import Invitation
from observatory.clusters.models import Discovery
from observatory.runs.models import Permalink, Run, RunError, Usage
from observatory.runs.sharing.links import make_link
from tests.support.observed_cluster import Observed
from tests.support.projects import World, make_run
from tests.support.stored_alerts import make_alert

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AXE = Path(__file__).resolve().parents[3] / "node_modules" / "axe-core" / "axe.min.js"
PLAYHEAD = "observatory.context.timeline.playhead"
# Text is pale while the state of another instant is on its way, which the page requests with its next frame.
RUN = """async (rules) => {
  const state = window.observatory?.context?.playheadState;
  for (let frames = 0; state && frames < 3; ) {
    await new Promise(requestAnimationFrame);
    frames = state.isCurrent && !document.querySelector(".panel.is-stale") ? frames + 1 : 0;
  }
  const only = rules ? { runOnly: { type: "rule", values: rules } } : {};
  const { violations } = await axe.run(document, { resultTypes: ["violations"], preload: false, ...only });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`));
}"""
READY = "() => document.documentElement.dataset.ready === '1'"


def open_page(page: Page, path: str) -> None:
    page.goto(path)
    if page.locator("main#observatory").count() or path.startswith("/runs/compare/"):
        page.wait_for_function(READY)
    page.evaluate(AXE.read_text())


def findings(page: Page, path: str) -> list[str]:
    """Of all rules in the light theme, and of those about colours in the dark one."""
    found: list[str] = []
    page.emulate_media(color_scheme="light")
    open_page(page, path)
    violations: list[str] = page.evaluate(RUN, None)
    found += [f"{path} {violation}" for violation in violations]
    page.emulate_media(color_scheme="dark")
    if path.startswith("/admin/"):
        open_page(page, path)
    violations = page.evaluate(RUN, ["color-contrast", "link-in-text-block"])
    return found + [f"{path} (dark) {violation}" for violation in violations]


def test_pages_of_lists_and_forms(page: Page, world: World, observed: Observed) -> None:
    make_alert(observed.cluster, "memory is high", fired=1, labels={"worker": "another"})
    alert = make_alert(observed.cluster, "memory is high", fired=1, resolved=None)
    day = world.live.started
    Discovery.objects.create(project=world.alpha, name="lab", kind="http_sd", error="status 500", looked=day)
    Usage.objects.create(cluster=world.live, day=day.date(), until=day, thread_seconds=60, tasks=5)
    RunError.objects.create(
        **{"run": world.run, "exception_type": "ValueError", "place": "etl.py:load", "count": 2},
        **{"function": "load", "file": "etl.py", "line": 3, "prefix": "load", "message": "no"},
        **{"first": day, "last": day, "last_id": uuid4(), "killed": 1, "retried": 1},
    )
    paths = [
        "/clusters/",
        "/clusters/?state=live",
        f"/usage/?since={day.date()}&until={day.date()}",
        "/errors/?days=",
        "/errors/?days=&type=ValueError&place=etl.py:load",
        "/runs/",
        "/runs/finding-marks/",
        "/targets/",
        f"/targets/{world.target.pk}/",
        "/targets/discoveries/add/",
        "/projects/",
        "/projects/alpha/",
        f"/join/{invitations.make(Invitation(), world.alpha, world.people['owner'], days=7)}/",
        "/account/password/",
        "/account/tokens/",
        "/audit/",
        "/import/",
        "/alerts/",
        f"/alerts/{alert.pk}/",
        f"/runs/{observed.run.pk}/export/",
        f"/runs/{observed.run.pk}/links/",
        f"/clusters/{observed.cluster.pk}/runs/",
        f"/clusters/{observed.cluster.pk}/errors/",
        f"/clusters/{observed.cluster.pk}/logs/",
        f"/clusters/{observed.cluster.pk}/tasks/",
    ]
    assert [finding for path in paths for finding in findings(page, path)] == []


def test_timelines_and_comparisons(page: Page, world: World, observed: Observed) -> None:
    # with a long number most of its heading is no link
    other = make_run(observed.cluster, name=observed.run.name, id=123_456_789)
    Run.objects.filter(pk=other.pk).update(start=observed.run.start, stop=observed.run.stop)
    link = make_link(Permalink(run=observed.run), world.people["superuser"])
    paths = [
        f"/clusters/{observed.cluster.pk}/",
        f"/runs/{observed.run.pk}/",
        f"/runs/compare/?a={observed.run.pk}&b={other.pk}",
        f"/runs/history/?{urlencode({'name': observed.run.name, 'project': 'alpha'})}",
        f"/r/{link.token}",
    ]
    assert [finding for path in paths for finding in findings(page, path)] == []


def test_the_tab_of_tasks_with_an_opened_prefix(page: Page, world: World, observed: Observed) -> None:
    open_page(page, f"/runs/{observed.run.pk}/?tab=tasks")
    page.get_by_role("button", name="Details of sum_slowly").click()
    page.get_by_role("table", name="slowest tasks").locator("tbody tr").first.wait_for()
    assert page.evaluate(RUN, None) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(RUN, ["color-contrast", "link-in-text-block"]) == []


def test_the_tab_of_transfers_with_an_opened_transfer(page: Page, world: World, observed: Observed) -> None:
    open_page(page, f"/runs/{observed.run.pk}/?tab=transfers")
    for name in ("transfer-matrix", "largest-transfers", "steals"):
        page.locator(f"[data-chart={name}]").scroll_into_view_if_needed()
    page.locator("[data-chart=largest-transfers] .row-opener").first.click()
    page.get_by_role("application", name="Matrix of transfers").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate(RUN, None) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(RUN, ["color-contrast", "link-in-text-block"]) == []


def test_the_tab_of_graphs_with_a_selected_group(page: Page, world: World, observed: Observed) -> None:
    open_page(page, f"/runs/{observed.run.pk}/?tab=graph")
    page.locator("[data-chart=graph]").scroll_into_view_if_needed()
    page.get_by_role("application", name="Graph: ").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.locator(".graph-node h3").wait_for()
    assert page.evaluate(RUN, None) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(RUN, ["color-contrast", "link-in-text-block"]) == []


def test_the_tab_of_why_leads_to_moments_workers_and_tasks(
    page: Page, world: World, observed: Observed
) -> None:
    open_page(page, f"/runs/{observed.run.pk}/?tab=why")
    page.locator("[data-chart=findings] summary").filter(has_text="failed with ValueError").click()
    for name in ("thread-times-over-time", "waited-for", "thread-times"):
        page.locator(f"[data-chart={name}]").scroll_into_view_if_needed()
    kinds = page.get_by_role("table", name="time of threads by what they did")
    before = page.evaluate(PLAYHEAD)
    kinds.get_by_role("button", name="failed attempts").click()
    page.wait_for_function(f"({PLAYHEAD}) !== {before}")
    page.get_by_role("button", name="workers", exact=True).click()
    page.get_by_role("table", name="time of threads by workers").locator("tbody button").first.click()
    page.wait_for_function("() => observatory.context.selection.worker !== null")
    task = page.get_by_role("table", name="tasks that others waited for").locator("tbody button").first
    key = task.text_content()
    task.click()
    page.wait_for_function("key => observatory.context.selection.key === key", arg=key)
    assert page.evaluate(RUN, None) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(RUN, ["color-contrast", "link-in-text-block"]) == []


@pytest.mark.parametrize("tab", ["memory", "workers"])
def test_the_tabs_of_memory_and_of_a_worker(page: Page, world: World, observed: Observed, tab: str) -> None:
    open_page(page, f"/runs/{observed.run.pk}/?tab={tab}")
    workers = page.evaluate("[...observatory.context.model.workers.keys()]")
    open_page(page, f"/runs/{observed.run.pk}/?tab={tab}&worker={workers[0]}")
    for chart in page.locator("[data-chart]:visible").all():
        chart.scroll_into_view_if_needed()
    assert page.evaluate(RUN, None) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(RUN, ["color-contrast", "link-in-text-block"]) == []


def test_the_form_of_a_rule(page: Page, world: World) -> None:
    assert findings(page, "/admin/alerts/rule/add/") == []
    assert Rule.objects.count() == 0


def test_the_tab_of_logs_with_a_filter(page: Page, world: World, observed: Observed) -> None:
    open_page(page, f"/runs/{observed.run.pk}/?tab=logs&level=10")
    page.locator("[data-chart=logs] tr[data-line]").first.wait_for()
    assert page.evaluate(RUN, None) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(RUN, ["color-contrast", "link-in-text-block"]) == []


def test_the_tab_of_the_system_with_an_opened_fact(page: Page, world: World, observed: Observed) -> None:
    open_page(page, f"/runs/{observed.run.pk}/?tab=system")
    for name in ("environment", "event-list"):
        page.locator(f"[data-chart={name}]").scroll_into_view_if_needed()
        page.locator(f"[data-chart={name}] .row-opener").first.click()
    assert page.evaluate(RUN, None) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(RUN, ["color-contrast", "link-in-text-block"]) == []
