"""The pytest plugin that starts the services and orders the modules.

Named in pyproject.toml: pytest-django reads the settings before any conftest.py is loaded.
"""

from __future__ import annotations

import gc

import pytest

from tests.support import services

pytest_plugins = ["tests.support.reruns", "tests.support.scheduling"]


def pytest_collection() -> None:
    """Collecting makes a million objects that stay: looking for garbage among them takes seconds."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Counts what stays before setting it aside.

    Python looks through all objects again only when there are a quarter as many new ones as it last counted.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    services.stop()


services.start(**services.NOT_DURABLE, **services.SMALL)
