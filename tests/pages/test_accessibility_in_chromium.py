"""Pages have no findings of axe that keep people out: names, labels, roles, contrast on both themes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page

from observatory.alerts.models import Rule
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.links import make_link
from tests.alerted import make_alert
from tests.observed import Observed
from tests.world import World, make_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async (rules) => {
  const only = rules ? { runOnly: { type: "rule", values: rules } } : {};
  const { violations } = await axe.run(document, { resultTypes: ["violations"], ...only });
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
    paths = [
        "/clusters/",
        "/runs/",
        "/targets/",
        f"/targets/{world.target.pk}/",
        "/projects/",
        "/projects/alpha/",
        "/account/password/",
        "/account/tokens/",
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


def test_the_form_of_a_rule(page: Page, world: World) -> None:
    assert findings(page, "/admin/alerts/rule/add/") == []
    assert Rule.objects.count() == 0
