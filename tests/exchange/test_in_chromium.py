"""The pages of exports and imports, as somebody uses them in a browser."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from celery.contrib.testing.worker import start_worker
from django.conf import LazySettings
from playwright.sync_api import Page, expect

from observatory.config.celery import app
from observatory.exchange.formats import FORMATS
from observatory.exchange.models import Job
from observatory.runs.models import Run
from tests.exchange.test_jobs import Endless
from tests.pages.conftest import complaints, context, page

__all__ = ["complaints", "context", "page"]
pytestmark = pytest.mark.browser

DROP = """([selector, name, data]) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name));
    const event = { bubbles: true, cancelable: true, dataTransfer: transfer };
    document.querySelector(selector).dispatchEvent(new DragEvent("drop", event));
}"""


def test_a_run_is_exported_downloaded_and_dropped_on_the_page_that_imports(
    page: Page, run: Run, tmp_path: Path, complaints: list[str]
) -> None:
    app.control.purge()
    with start_worker(app, pool="threads", concurrency=2, perform_ping_check=False):
        page.goto(f"/runs/{run.pk}/")
        page.get_by_role("link", name="Export").click()
        page.get_by_role("button", name="Bundle").click()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download").click()
        saved = tmp_path / "downloaded"
        download.value.save_as(saved)
        assert download.value.suggested_filename == "nightly-etl.observatory.zip"

        page.goto("/clusters/")
        page.get_by_role("link", name="Import a file").click()
        page.wait_for_load_state()
        page.evaluate(DROP, ["form.drop", "dropped.zip", base64.b64encode(saved.read_bytes()).decode()])
        page.get_by_label("Project").select_option(label="Beta")
        page.get_by_label("Name").fill("seen again")
        page.get_by_role("button", name="Import").click()
        page.get_by_role("link", name="Open the run").click()
        expect(page.get_by_text("seen again").first).to_be_visible()
    assert complaints == []


def test_the_bar_moves_and_cancel_ends_it(
    page: Page, run: Run, monkeypatch: pytest.MonkeyPatch, complaints: list[str]
) -> None:
    app.control.purge()
    endless = Endless()
    monkeypatch.setitem(FORMATS, "endless", endless)
    with start_worker(app, pool="threads", concurrency=2, perform_ping_check=False):
        page.goto(f"/runs/{run.pk}/export/")
        page.get_by_role("button", name="Endless").click()
        expect(page.locator("#progress-words")).to_have_text("50 %", timeout=120_000)
        assert page.locator("progress").evaluate("bar => bar.value") == 0.5
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("Cancelled.")).to_be_visible()
    assert Job.objects.get().state == "cancelled"
    assert complaints == []


def test_a_file_over_the_limit_is_not_sent(page: Page, settings: LazySettings, tmp_path: Path) -> None:
    settings.IMPORT_LIMIT = 1 << 20
    large = tmp_path / "large"
    large.write_bytes(bytes((1 << 20) + 1))
    page.goto("/import/")
    page.set_input_files("[data-limit]", large)
    page.get_by_role("button", name="Import").click()
    said = page.locator("[data-limit]").evaluate("input => input.validationMessage")
    assert said == "The file is larger than 1.00 MiB, the maximum."
    assert Job.objects.count() == 0
