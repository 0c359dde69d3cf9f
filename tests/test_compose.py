"""docker-compose.yml is not run: it is checked against the Compose specification and the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docker-compose.yml").read_text()
SERVICES: dict[str, Any] = yaml.safe_load(TEXT)["services"]
KEEPS = {"database", "redis", "beat", "web", "worker"}
RUNS_ONCE = {"migrate"}


def _interpolated(text: str) -> str:
    """With every variable at its default, or at a word where it is required."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)
    return re.sub(r"\$\{\w+:\?[^}]*\}", "secret", text)


def test_it_is_valid_by_the_compose_specification() -> None:
    compose = PyCompose.from_yaml(yaml.safe_dump(yaml.safe_load(_interpolated(TEXT))))
    assert set(compose.service_names()) == set(SERVICES)


def test_the_validator_refuses_what_is_not_in_the_specification() -> None:
    with pytest.raises(Exception, match="restrat"):
        PyCompose.from_yaml(yaml.safe_dump({"services": {"web": {"image": "x", "restrat": "always"}}}))


def test_every_service_that_stays_has_a_health_check_and_every_one_that_keeps_something_a_volume() -> None:
    for name, service in SERVICES.items():
        if name in RUNS_ONCE or name == "demo-worker":
            continue
        assert "healthcheck" in service, name
    assert {name for name, service in SERVICES.items() if service.get("volumes")} == KEEPS


def test_a_full_disk_or_a_database_that_is_away_restarts_no_web_process() -> None:
    assert SERVICES["web"]["healthcheck"]["test"][-1].endswith("/healthz")


def test_web_and_worker_share_the_files_of_exports_and_imports() -> None:
    assert SERVICES["web"]["volumes"] == SERVICES["worker"]["volumes"]
    (volume,) = SERVICES["web"]["volumes"]
    folder = volume.split(":")[1]
    image = (ROOT / "Dockerfile").read_text()
    assert folder == f"{re.findall('OBSERVATORY_DATA_DIR=(.+)', image)[0]}/exchange"
    assert "data/exchange" in image  # or it would be root's


def test_only_the_demo_profile_has_a_dask_cluster() -> None:
    assert {name for name, service in SERVICES.items() if service.get("profiles") == ["demo"]} == {
        "demo-scheduler",
        "demo-worker",
    }
    assert SERVICES["demo-worker"]["deploy"]["replicas"] == 2


def test_every_management_command_and_setting_that_it_names_exists() -> None:
    named = re.findall(r'"dask-observatory", "(\w+)"', TEXT)
    assert {"migrate", "collect", "alive"} <= set(named) <= set(get_commands())
    documented = set(re.findall(r"`([A-Z_]+)`", (ROOT / "docs/settings.md").read_text()))
    environment = yaml.safe_load(TEXT)["x-observatory"]["environment"]
    assert set(environment) <= documented


def test_the_image_is_made_of_files_that_exist_and_are_not_ignored() -> None:
    allowed = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    copied = [
        name
        for names in re.findall(
            r"^COPY (?!--from)(?:--\S+ )*(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE
        )
        for name in names.split()
    ]
    assert set(copied) == set(allowed)
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_is_made_by_the_steps_of_the_makefile() -> None:
    steps = re.findall(r"RUN make (\S+)", (ROOT / "Dockerfile").read_text())
    targets = (ROOT / "Makefile").read_text().replace("$(VENV)", ".venv")
    assert steps
    for step in steps:
        assert re.search(rf"^{re.escape(step)}:", targets, re.MULTILINE), step
