"""The version of Observatory below each page."""

from __future__ import annotations

import pytest

from observatory import __version__
from tests.support.projects import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("path", ["/clusters/", "/clusters/{}/", "/clusters/{}/logs/", "/clusters/{}/tasks/"])
def test_a_page_ends_with_the_version(world: World, path: str) -> None:
    shown = world.client("viewer").get(path.format(world.ended.pk)).content.decode()
    footer = f"Dask Observatory {__version__}</footer>"
    assert footer in shown.split("</main>")[-1]
