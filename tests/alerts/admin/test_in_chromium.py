"""The page of a rule as people use it: pick a metric, move the threshold, see what fires, save."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib import admin
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from observatory.alerts.models import Rule
from observatory.clusters.models import Cluster
from tests.support.projects import HOSTILE, World, make_run
from tests.support.recorded_cluster import Recorded

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PATIENCE = 60_000  # ms
ADD = "/admin/alerts/rule/add/"
KEEP_ANSWERS = """
    const ask = window.fetch;
    window.answers = [];
    window.fetch = async (url, options) => {
        const answer = await ask(url, options);
        if (options?.body instanceof FormData) {
            const [copy, sent] = [answer.clone(), Object.fromEntries(options.body)];
            copy.text().then((text) => window.answers.push({ sent, status: copy.status, text }));
        }
        return answer;
    };
"""


@pytest.fixture
def patient(page: Page) -> Iterator[Page]:
    """A page whose forms and answers are printed where a test fails."""
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    page.add_init_script(KEEP_ANSWERS)
    yield page
    for answer in page.evaluate("window.answers ?? []"):
        print(answer["status"], answer["text"][:4_000])
        print({name: value for name, value in answer["sent"].items() if value})


def pick_metric(page: Page) -> None:
    """Of one worker's process, by what it means."""
    metric = page.get_by_label("metric", exact=True).first
    metric.fill("memory of a worker process")
    option = page.get_by_role("option").filter(has_text="observatory_worker_memory_bytes")
    option.click()
    expect(metric).to_have_value("observatory_worker_memory_bytes")
    page.get_by_role("button", name="process", exact=True).click()
    expect(page.get_by_label("labels", exact=True).first).to_have_value('type="process"')


def choose_cluster(page: Page) -> None:
    """The cluster that ended; its whole time is the window then."""
    page.get_by_label("Clusters and runs to test on").fill("evening")
    option = page.locator("#back-test-places").get_by_role("option")
    expect(option).to_have_count(1)
    option.filter(has_text="evening").click()


def test_a_rule_is_created_from_a_metric_and_a_dragged_threshold(
    patient: Page, memory: Recorded, world: World, complaints: list[str]
) -> None:
    page = patient
    page.goto(ADD)
    page.locator("#id_name").fill("Full worker")
    pick_metric(page)
    expect(page.locator(".metric-info").first).to_contain_text("Memory of a worker")
    page.locator(".sparkline").first.wait_for()
    page.get_by_label("threshold", exact=True).first.fill("3 GiB")
    choose_cluster(page)
    state = page.locator(".back-test-state")
    expect(state).to_contain_text("The rule would have fired once.")
    firing = page.locator(".firings tbody tr")
    expect(firing).to_contain_text("full")
    expect(firing).to_contain_text("1 min")

    line = page.get_by_role("slider", name="threshold", exact=True)
    expect(line).to_have_attribute("aria-valuetext", "3 GiB")
    line.focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    expect(state).to_contain_text("The rule would not have fired.")
    expect(page.locator(".firings")).to_have_count(0)
    box = line.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 120, steps=4)
    page.mouse.up()
    expect(state).to_contain_text("The rule would have fired once.")
    moved = page.get_by_label("threshold", exact=True).first.input_value()
    assert re.fullmatch(r"[\d.]+ GiB", moved)
    expect(page.locator(".rule-summary")).to_contain_text(f"is above {moved}")

    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/alerts/rule/")
    condition = Rule.objects.get(name="Full worker").conditions.get()
    assert condition.labels == 'type="process"'
    assert 1 < condition.threshold / 2**30 < 3.6
    # half a metric's name is refused on the way
    assert [said for said in complaints if "status of 422" not in said] == []


def test_only_the_fields_that_apply_are_shown(patient: Page, complaints: list[str]) -> None:
    page = patient
    page.goto(ADD)
    kind = page.get_by_label("kind of condition").first
    event, pattern = page.locator(".rule-event").first, page.locator(".rule-pattern").first
    threshold, window = page.locator(".rule-threshold").first, page.locator(".rule-window-seconds").first
    expect(threshold).to_be_visible()
    expect(event).to_be_hidden()
    expect(window).to_be_hidden()
    page.get_by_label("function").first.select_option("rate")
    expect(window).to_be_visible()
    expect(page.locator(".rule-other-metric").first).to_be_hidden()
    kind.select_option("event")
    expect(threshold).to_be_hidden()
    event.select_option("log")
    expect(pattern).to_be_visible()
    event.select_option("worker-paused")
    expect(pattern).to_be_hidden()
    assert complaints == []


def test_a_chosen_quantity_completes_the_rule(
    patient: Page, memory: Recorded, world: World, complaints: list[str]
) -> None:
    page = patient
    page.goto(ADD)
    quantity = page.get_by_label("quantity", exact=True).first
    quantity.select_option("worker-memory")
    expect(page.locator("#id_name")).to_have_value("Process memory of a worker, share of its limit")
    expect(page.locator("#id_hold_seconds")).to_have_value("5 s")
    expect(page.get_by_label("metric", exact=True).first).to_be_hidden()
    expect(page.locator(".metric-info").first).to_contain_text("Memory of a worker")
    expect(page.locator(".rule-summary")).to_contain_text("share of its limit” is above 90 %")
    page.get_by_label("threshold", exact=True).first.fill("85 %")
    page.get_by_label("threshold to clear at").first.fill("")
    choose_cluster(page)
    expect(page.locator(".back-test-state")).to_contain_text("The rule would have fired once.")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/alerts/rule/")
    condition = Rule.objects.get(name="Process memory of a worker, share of its limit").conditions.get()
    assert (condition.labels, condition.threshold) == ('type="process"', pytest.approx(0.85))
    assert complaints == []


def test_a_rule_on_runs_is_tried_on_the_last_month(
    patient: Page, memory: Recorded, world: World, complaints: list[str]
) -> None:
    world.ended.ended = timezone.now() - timedelta(hours=1)
    world.ended.started = world.ended.ended - timedelta(hours=5)
    world.ended.save()
    for place, minutes in enumerate((10, 11, 10, 14)):
        make_run(world.ended, "nightly", 60 * place, minutes)
    make_run(world.ended, HOSTILE, 290, 1)
    page = patient
    page.goto(ADD)
    page.get_by_label("quantity", exact=True).first.select_option("run-duration")
    expect(page.locator("#id_name")).to_have_value("Duration of a run: slower than usual")
    expect(page.get_by_label("names of runs").first).to_be_visible()
    expect(page.get_by_label("number of earlier runs").first).to_have_value("10")
    expect(page.get_by_label("one alert for").first).to_be_hidden()
    expect(page.locator(".rule-summary")).to_contain_text(
        "the duration of a run is above the median of the last 10"
    )
    expect(page.get_by_label("in the last")).to_have_value("month")
    state = page.locator(".back-test-state")
    expect(state).to_contain_text("The rule would have fired once.")
    expect(state).to_contain_text(
        "4 of 5 runs were not judged: fewer than 3 earlier runs of the name are known."
    )
    expect(page.locator(".firings tbody tr")).to_contain_text("nightly took 14 min, usually 10 min")
    page.get_by_label("threshold", exact=True).first.fill("50 %")
    expect(state).to_contain_text("The rule would not have fired.")
    quantity = page.get_by_label("quantity", exact=True).first
    quantity.select_option("run-new-errors")
    expect(page.locator(".rule-summary")).to_contain_text(
        "had errors that the last 10 runs of its name didn't have"
    )
    expect(page.locator(".rule-threshold").first).to_be_hidden()
    quantity.select_option("run-duration")
    page.get_by_label("names of runs").first.fill("night*")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/alerts/rule/")
    condition = Rule.objects.get(name="Duration of a run: slower than usual").conditions.get()
    assert (condition.kind, condition.measure, condition.run_name) == ("run", "duration", "night*")
    assert (condition.threshold, condition.earlier_runs, condition.window_seconds) == (0.2, 10, 3600)
    assert complaints == []


def test_changing_what_is_measured_leaves_the_quantity(patient: Page) -> None:
    page = patient
    page.goto(ADD)
    quantity = page.get_by_label("quantity", exact=True).first
    quantity.select_option("worker-memory")
    quantity.select_option("")
    labels = page.get_by_label("labels", exact=True).first
    expect(labels).to_have_value('type="process"')
    quantity.select_option("tasks-erred")
    expect(page.get_by_label("how many times").first).to_have_value("10")
    expect(page.locator(".rule-event").first).to_be_hidden()
    quantity.select_option("worker-memory")
    labels.evaluate(
        "field => { field.value = ''; field.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    expect(quantity).to_have_value("")
    expect(labels).to_be_visible()


def test_a_press_on_a_suggestion_counts_although_a_warning_moves_the_page_before_the_release(
    patient: Page, memory: Recorded, world: World
) -> None:
    page = patient
    page.goto(ADD)
    page.get_by_label("metric", exact=True).first.fill("observatory_worker_memory_bytes")
    page.get_by_label("Clusters and runs to test on").fill("evening")
    option = page.locator("#back-test-places").get_by_role("option").filter(has_text="evening")
    option.hover()
    page.mouse.down()
    page.get_by_label("threshold", exact=True).first.evaluate(
        "field => { field.value = '3 GiB'; field.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    expect(page.locator("#rule-warnings .rule-warning")).to_be_visible()
    page.mouse.up()
    expect(page.locator(".back-test-chosen .chip")).to_have_text(re.compile("evening"))


def test_a_press_on_a_suggestion_is_given_up_by_moving_the_pointer_away(
    patient: Page, memory: Recorded, world: World
) -> None:
    page = patient
    page.goto(ADD)
    page.get_by_label("Clusters and runs to test on").fill("evening")
    option = page.locator("#back-test-places").get_by_role("option").filter(has_text="evening")
    option.hover()
    page.mouse.down()
    page.mouse.move(5, 5, steps=4)
    page.mouse.up()
    expect(page.locator(".back-test-chosen .chip")).to_have_count(0)
    option.click()
    expect(page.locator(".back-test-chosen .chip")).to_have_count(1)


def test_a_warning_offers_fixes_that_fill_in_the_field(
    patient: Page, memory: Recorded, world: World, complaints: list[str]
) -> None:
    page = patient
    page.goto(ADD)
    page.get_by_label("metric", exact=True).first.fill("observatory_worker_memory_bytes")
    page.get_by_label("threshold", exact=True).first.fill("3 GiB")
    choose_cluster(page)
    warning = page.locator("#rule-warnings .rule-warning")
    expect(warning).to_contain_text("type, which don't add up")
    warning.get_by_role("button", name='type="process"').press("Enter")
    labels = page.get_by_label("labels", exact=True).first
    expect(labels).to_have_value('type="process"')
    expect(labels).to_be_focused()
    expect(warning).to_have_count(0)
    expect(page.locator(".back-test-state")).to_contain_text("The rule would have fired once.")
    assert [said for said in complaints if "status of 422" not in said] == []


def test_a_fix_keeps_the_focus_when_the_same_warning_comes_again(
    patient: Page, memory: Recorded, world: World
) -> None:
    page = patient
    page.goto(ADD)
    page.get_by_label("metric", exact=True).first.fill("observatory_worker_memory_bytes")
    page.get_by_label("threshold", exact=True).first.fill("3 GiB")
    fix = page.locator("#rule-warnings").get_by_role("button", name='type="process"')
    fix.focus()
    state = page.locator(".back-test-state")
    with page.expect_response("**/back-test/**"):
        page.get_by_role("button", name="Run", exact=True).dispatch_event("click")
    expect(state).not_to_contain_text("Evaluating")
    expect(fix).to_be_focused()


def test_an_offered_threshold_to_clear_at_is_filled_in(
    patient: Page, flapping: Recorded, world: World, complaints: list[str]
) -> None:
    page = patient
    page.goto(ADD)
    page.get_by_label("metric", exact=True).first.fill("observatory_worker_memory_bytes")
    page.get_by_label("labels", exact=True).first.fill('type="process", worker="unsteady"')
    page.get_by_label("threshold", exact=True).first.fill("3 GiB")
    choose_cluster(page)
    state = page.locator(".back-test-state")
    expect(state).to_contain_text("fired 15 times. Firings lasted 10.0 s in the median")
    offer = page.locator(".back-test-offer")
    expect(offer).to_contain_text("Clearing at 2.4 GiB, the rule would have fired once, for")
    offer.get_by_role("button").press("Enter")
    expect(page.get_by_label("threshold to clear at").first).to_have_value("2.4 GiB")
    expect(state).to_contain_text("fired once. It lasted")
    expect(offer).to_be_hidden()
    assert [said for said in complaints if "status of 422" not in said] == []


def test_problems_are_shown_at_their_fields_while_typing(patient: Page) -> None:
    page = patient
    page.goto(ADD)
    page.get_by_label("metric", exact=True).first.fill("no_such_metric")
    page.get_by_label("threshold", exact=True).first.fill("5")
    expect(page.locator(".rule-wrong").first).to_contain_text("no_such_metric")


def test_no_admin_page_violates_its_content_security_policy(
    patient: Page, world: World, complaints: list[str]
) -> None:
    Cluster.objects.update(name=HOSTILE)
    Rule.objects.create(name=HOSTILE, error=HOSTILE)
    for model in admin.site._registry:
        path = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        for page_path in (path, f"{path}add/"):
            answer = patient.goto(page_path)
            assert answer is not None
            assert answer.status in (200, 403), page_path
    patient.goto("/admin/alerts/rule/")
    patient.locator("[name=_selected_action]").first.check()
    complaints[:] = [said for said in complaints if "status of 403" not in said]
    assert complaints == []


def test_the_admin_has_the_chosen_theme(patient: Page) -> None:
    page = patient
    page.goto("/admin/")
    is_dark = "() => document.documentElement.classList.contains('dark')"
    assert not page.evaluate(is_dark)
    page.evaluate("() => localStorage.setItem('theme', 'dark')")
    page.goto("/admin/")
    page.wait_for_function(is_dark)
    page.wait_for_function("() => document.documentElement.dataset.theme === 'dark'")
    page.locator("[x-data='{ openUserLinks: false }'] .cursor-pointer").last.click()
    page.get_by_text("Light", exact=True).click()
    page.wait_for_function("() => localStorage.getItem('theme') === 'light'")
    page.goto("/clusters/")
    assert page.evaluate("() => document.documentElement.dataset.theme") == "light"


def test_a_new_rule_begins_with_its_quantity_in_whichever_order_scripts_load(
    patient: Page, world: World
) -> None:
    page = patient
    page.route("**/admin/js/change_form*.js", loaded_late)
    page.goto(ADD)
    expect(page.get_by_label("quantity", exact=True).first).to_be_focused()


def loaded_late(route: Route) -> None:
    time.sleep(1)
    route.continue_()
