"""A misspelt setting and a weak secret key are noticed at the start."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from observatory.base.variables import KNOWN, unknown_variables

ROOT = Path(__file__).parent.parent.parent
OF_AGENTS = {f"OBSERVATORY_{name}" for name in ("LABELS", "NAME", "RELEASE", "TOKEN", "URL")}
OF_COMPOSE = {"OBSERVATORY_PORT"}


def check(**variables: str) -> subprocess.CompletedProcess[str]:
    """Starts a command with these variables."""
    command = [sys.executable, "-m", "django", "check"]
    settings = {"DJANGO_SETTINGS_MODULE": "observatory.config.settings"}
    environment = {**os.environ, **settings, **variables}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_the_known_variables_are_those_of_the_documents() -> None:
    documented = re.findall(
        r"^- `(OBSERVATORY_[A-Z_]+)`[ :]", (ROOT / "docs/settings.md").read_text(), re.MULTILINE
    )
    assert set(documented) | OF_AGENTS | OF_COMPOSE == KNOWN


def test_a_misspelt_variable_is_named_with_the_nearest_one_at_the_start() -> None:
    done = check(OBSERVATORY_TRUSTED_PROXY="10.0.0.1", OBSERVATORY_COLOUR="red")
    assert done.returncode == 0, done.stderr
    hint = "did you mean OBSERVATORY_TRUSTED_PROXIES?"
    assert f"OBSERVATORY_TRUSTED_PROXY is no setting and has no effect: {hint}" in done.stderr
    assert "OBSERVATORY_COLOUR is no setting and has no effect: docs/settings.md lists them" in done.stderr


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("OBSERVATORY_SECRETKEY", "OBSERVATORY_SECRET_KEY"),
        ("OBSERVATORY_PUBLIC_URLS", "OBSERVATORY_PUBLIC_URL"),
        ("OBSERVATORY_LOGLEVEL", "OBSERVATORY_LOG_LEVEL"),
        ("OBSERVATORY_OIDC_CLIENTID", "OBSERVATORY_OIDC_CLIENT_ID"),
        ("OBSERVATORY_COLOUR", ""),
    ],
)
def test_the_nearest_name_is_what_was_meant(name: str, nearest: str) -> None:
    assert unknown_variables([name]) == {name: nearest}


def test_variables_of_others_are_no_misspelt_ones() -> None:
    assert (
        unknown_variables(
            [
                "OBSERVATORY_SERVICE_HOST",
                "OBSERVATORY_SERVICE_PORT_HTTP",
                "OBSERVATORY_WEB_SERVICE_PORT",
                "OBSERVATORY_WEB_PORT",
                "OBSERVATORY_PORT_8000_TCP",
                "OBSERVATORY_WEB_PORT_8000_TCP_ADDR",
                "OBSERVATORY__RETIRE_TOKEN",
                "OBSERVATORY_TEST_DATABASE_URL",
                "DATABASE_URLS",
            ]
        )
        == {}
    )


@pytest.mark.parametrize("key", ["short", "x" * 64, "abcabcabcabcabcabcabcabcabcabcabcabc", "0123456789" * 3])
def test_a_key_that_can_be_guessed_is_refused_with_how_to_make_one(key: str) -> None:
    done = check(OBSERVATORY_SECRET_KEY=key)
    assert done.returncode != 0
    assert "OBSERVATORY_SECRET_KEY" in done.stderr
    assert "openssl rand -hex 32" in done.stderr
    assert key not in done.stderr


def test_a_made_key_is_accepted() -> None:
    assert check(OBSERVATORY_SECRET_KEY=os.urandom(32).hex()).returncode == 0
