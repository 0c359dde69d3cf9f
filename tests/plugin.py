"""The pytest plugin that starts the services.

Named in pyproject.toml: pytest-django reads the settings before any conftest.py is loaded.
"""

from __future__ import annotations

import pytest

from tests import services


def pytest_unconfigure(config: pytest.Config) -> None:
    services.stop()


services.start(**services.NOT_DURABLE, **services.SMALL)
