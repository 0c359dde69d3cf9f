from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from types import FrameType

import hypothesis
import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher

# a loaded machine is no failure
hypothesis.settings.register_profile(
    "observatory", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("observatory")

# by default a LocalCluster gives up a worker whose nanny takes more than 15 seconds to restart it
os.environ.setdefault("DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT", "10 minutes")

# runs of tests have the tags that tests give them, in CI as well
for _name in ("GITHUB_ACTIONS", "GITLAB_CI"):
    os.environ.pop(_name, None)

pytest_plugins = [
    "tests.support.chromium",
    "tests.collect.dask_processes",
    "tests.support.connections",
    "tests.support.database",
    "tests.support.static_files",
]


@pytest.fixture(scope="session", autouse=True)
def _fast_password_hashes() -> Iterator[None]:
    """Django's hash of a password takes 0.4 s of processor time, by design."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PBKDF2PasswordHasher, "iterations", 1)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_collection_in_current_frames() -> Iterator[None]:
    """Where Python 3.11 collects garbage in sys._current_frames(), which Dask's profiles need, a process
    with gilknocker in it may stand still for good (python/cpython#106883)."""
    if sys.version_info >= (3, 12):
        yield
        return
    current_frames = sys._current_frames

    def without_collection() -> dict[int, FrameType]:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return current_frames()
        finally:
            if was_enabled:
                gc.enable()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "_current_frames", without_collection)
        yield
