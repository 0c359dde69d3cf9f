"""The agent's settings, and their table in docs/agent.md."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import fields
from pathlib import Path
from typing import Any

import dask.config
import pytest

from observatory.agent.configuration import (
    ENVIRONMENT,
    Configuration,
    ConfigurationError,
    read_configuration,
    spool_directory,
)

ROOT = Path(__file__).parents[2]
NEEDED = {"url": "http://observatory:8000", "token": "a-token"}


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENVIRONMENT.values():
        monkeypatch.delenv(name, raising=False)


def test_arguments_win_over_the_environment_and_the_environment_over_dasks_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with dask.config.set({"observatory.name": "of-dask", "observatory.url": "http://of-dask"}):
        assert read_configuration(token="t").name == "of-dask"
        monkeypatch.setenv("OBSERVATORY_NAME", "of-environment")
        assert read_configuration(token="t").name == "of-environment"
        assert read_configuration(token="t", name="given").name == "given"
        assert read_configuration(token="t").url == "http://of-dask"


def test_dasks_own_environment_variables_are_its_configuration() -> None:
    environment = {
        "DASK_OBSERVATORY__MEMORY_LIMIT": "1 MiB",
        "DASK_OBSERVATORY__LOGGERS": "{'mine': 'debug'}",
    }
    with dask.config.set(dask.config.collect_env(environment)):
        configuration = read_configuration(**NEEDED)
    assert configuration.memory_limit == 2**20
    assert configuration.log_levels == {"distributed": 20, "mine": 10}


def test_a_flag_is_true_or_false_and_goes_to_the_workers() -> None:
    environment = dask.config.collect_env({"DASK_OBSERVATORY__NATIVE_PROFILE": "true"})
    with dask.config.set(environment):
        assert read_configuration(**NEEDED).for_workers()["native_profile"] is True
    assert read_configuration(**NEEDED).for_workers()["native_profile"] is False
    assert read_configuration(**NEEDED, native_profile=True).native_profile is True
    with pytest.raises(ConfigurationError, match=r"observatory\.native-profile: 'perhaps'"):
        read_configuration(**NEEDED, native_profile="perhaps")
    assert read_configuration(**NEEDED).for_workers()["ask_batch_system"] is True
    assert read_configuration(**NEEDED, ask_batch_system="false").for_workers()["ask_batch_system"] is False


def test_numbers_times_and_sizes_can_have_units() -> None:
    configuration = read_configuration(
        **NEEDED, spool_limit="2 GiB", flush_interval="250ms", close_timeout=3, key_edges_limit="5"
    )
    assert configuration.spool_limit == 2**31
    assert configuration.flush_interval == 0.25
    assert configuration.close_timeout == 3.0
    assert configuration.key_edges_limit == 5


@pytest.mark.parametrize("missing", ["url", "token"])
def test_a_missing_address_or_token_is_an_error_that_names_the_setting(missing: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^observatory.{missing} is not set: "):
        read_configuration(**{**NEEDED, missing: None})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("url", "observatory:8000"),
        ("url", "ftp://observatory"),
        ("url", "http://"),
        ("url", "http://observatory:port"),
        ("url", "http://[::1"),
        ("url", "http://observatory:99999"),
        ("url", "http://obser\nvatory"),
        ("memory_limit", "much"),
        ("memory_limit", -1),
        ("spool_limit", "-1 MiB"),
        ("flush_interval", "soon"),
        ("flush_interval", 0),
        ("flush_interval", "nan"),
        ("close_timeout", -1),
        ("sample_interval", "2 days"),
        ("key_edges_limit", "all"),
        ("error_arguments", "perhaps"),
        ("log_level", "LOUD"),
        ("loggers", "mine"),
        ("loggers", {"mine": "LOUD"}),
        ("verify", "/nowhere/ca.pem"),
        ("retire_token", "short"),
        ("retire_token", "with some spaces in it"),
    ],
)
def test_a_wrong_value_is_an_error_of_one_line_that_names_the_setting(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read_configuration(**{**NEEDED, name: value})
    message = str(raised.value)
    assert f"observatory.{name.replace('_', '-')}" in message
    assert "\n" not in message


def test_an_unknown_setting_is_an_error_that_names_it() -> None:
    with pytest.raises(ConfigurationError, match="unknown setting 'memory'; the settings are url, token"):
        read_configuration(**NEEDED, memory=1)


def test_the_token_is_never_shown() -> None:
    assert "a-token" not in repr(read_configuration(**NEEDED))
    assert "a-token" not in repr(read_configuration(**NEEDED).for_workers())
    for secret in ("s3cret\r\nX-Injected: 1", "s3cret\x00", "s3crét"):
        with pytest.raises(ConfigurationError) as raised:
            read_configuration(url="http://observatory", token=secret)
        assert "s3cr" not in str(raised.value)


def test_an_address_with_a_password_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigurationError, match=r"observatory.url") as raised:
        read_configuration(url="http://me:s3cret@observatory", token="t")
    assert "s3cret" not in str(raised.value)


def test_a_token_may_end_with_a_newline() -> None:
    assert read_configuration(url="http://observatory/", token="a-token\n") == Configuration(
        url="http://observatory", token="a-token"
    )


def test_the_default_spool_is_a_folder_of_this_user(tmp_path: Path) -> None:
    assert spool_directory(read_configuration(**NEEDED)).name.endswith(f"-{os.getuid()}")
    named = read_configuration(**NEEDED, spool_directory=str(tmp_path))
    assert spool_directory(named) == tmp_path
    assert stat.S_ISDIR(tmp_path.stat().st_mode)


def test_every_setting_and_its_default_is_documented() -> None:
    page = (ROOT / "docs/agent.md").read_text()
    rows = re.findall(r"^\| `observatory\.([a-z-]+)` \| (.*?) \| (.*?) \| (.+) \|$", page, re.MULTILINE)
    assert [name.replace("-", "_") for name, *_ in rows] == [field.name for field in fields(Configuration)]
    for name, variable, default, meaning in rows:
        field = name.replace("-", "_")
        assert variable == (f"`{ENVIRONMENT[field]}`" if field in ENVIRONMENT else "")
        shown = re.fullmatch(r"`(.*)`", default)
        if shown is not None:
            given = {**NEEDED, field: shown[1] if shown[1] != "{}" else {}}
            assert getattr(read_configuration(**given), field) == getattr(Configuration(), field), name
        else:
            assert getattr(Configuration(), field) == "", name
        assert meaning
