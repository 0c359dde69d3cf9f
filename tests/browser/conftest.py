from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.observatory import Observatory
from tests.support.chromium import TIMEOUT
from tests.support.first_start import copy_migrated, static_root


@pytest.fixture
def observatory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observatory]:
    """A complete, migrated Observatory, not started."""
    with made_observatory(tmp_path_factory.mktemp("observatory")) as observatory:
        yield observatory


@contextmanager
def made_observatory(folder: Path) -> Iterator[Observatory]:
    """An Observatory in a folder that any account can access."""
    for parent in (folder, *folder.parents[:3]):
        if parent.owner() != "root" or parent == Path("/tmp"):
            break
        parent.chmod(0o711)
    copy_migrated(folder / "data")
    observatory = Observatory(folder / "data")
    observatory.environment["OBSERVATORY_STATIC_ROOT"] = static_root()
    yield observatory
    observatory.stop()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1600, "height": 1000})
    context.set_default_timeout(TIMEOUT)
    yield context.new_page()
    context.close()
