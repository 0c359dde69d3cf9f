"""deploy/systemd is not installed: it is compared with the image, Compose and the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from django.core.management import load_command_class

ROOT = Path(__file__).resolve().parent.parent.parent
UNITS = ROOT / "deploy/systemd"
COMMON = (UNITS / "dask-observatory-.service.d/common.conf").read_text()
SERVICES = {path.stem.removeprefix("dask-observatory-"): path for path in UNITS.glob("*.service")}
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
PLACES = {
    "/srv/observatory/data/beat/schedule": "/var/lib/dask-observatory/beat-schedule",
    "0.0.0.0": "127.0.0.1",
}
"""of the image, and of a machine"""


def values(text: str, name: str) -> list[str]:
    """The values of a setting of a unit, in their order."""
    joined = text.replace("\\\n", " ")
    return [value.strip() for value in re.findall(rf"^{name}=(.*)$", joined, re.MULTILINE)]


def commands(service: str) -> list[list[str]]:
    """The command lines of a service, without the folder of the programs."""
    found = [shlex.split(line) for line in values(SERVICES[service].read_text(), "ExecStart")]
    for command in found:
        assert command[0].startswith("/opt/dask-observatory/bin/")
    return [[Path(command[0]).name, *(part.replace("%%", "%") for part in command[1:])] for command in found]


def of_the_image() -> list[str]:
    image = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
    found: list[str] = yaml.safe_load(re.findall(r"^CMD (\[.*\])$", image, re.MULTILINE)[0])
    return found


@pytest.mark.parametrize("service", ["web", "collector", "worker", "alerts", "beat"])
def test_services_run_what_compose_runs(service: str) -> None:
    expected = COMPOSE[service].get("command") or of_the_image()
    assert commands(service) == [[PLACES.get(part, part) for part in expected]]


def test_migrations_and_static_files_come_first() -> None:
    migrate, static = commands("migrate")
    assert migrate == COMPOSE["migrate"]["command"]
    assert static[1] == "collectstatic"
    for name in SERVICES.keys() - {"migrate", "up"}:
        text = SERVICES[name].read_text()
        assert values(text, "After") == values(text, "Wants") == ["dask-observatory-migrate.service"], name


def test_the_target_has_every_service_and_they_stop_with_it() -> None:
    wanted = " ".join(values((UNITS / "dask-observatory.target").read_text(), "Wants")).split()
    assert {f"dask-observatory-{name}.service" for name in SERVICES} - set(wanted) == {
        "dask-observatory-up.service"
    }
    for name in SERVICES.keys() - {"up"}:
        assert values(SERVICES[name].read_text(), "PartOf") == ["dask-observatory.target"], name


def test_every_unit_can_be_enabled_by_itself() -> None:
    for path in (*SERVICES.values(), UNITS / "dask-observatory.target"):
        assert values(path.read_text(), "WantedBy") == ["multi-user.target"], path.name


def test_the_service_for_one_machine_runs_up_with_options_that_it_has() -> None:
    [[program, name, *arguments]] = commands("up")
    assert (program, name) == ("dask-observatory", "up")
    options = (
        load_command_class("observatory.runtime", "up").create_parser(program, name).parse_args(arguments)
    )
    assert (options.host, options.port) == ("127.0.0.1", 8000)
    assert "dask-observatory.target" in values(SERVICES["up"].read_text(), "Conflicts")


def test_services_write_to_the_data_folder_only_and_gain_no_privileges() -> None:
    assert values(COMMON, "ProtectSystem") == ["strict"]
    assert values(COMMON, "NoNewPrivileges") == ["yes"]
    assert values(COMMON, "CapabilityBoundingSet") == [""]
    assert values(COMMON, "StateDirectoryMode") == ["0700"]
    [folder] = values(COMMON, "StateDirectory")
    variables = dict(
        variable.split("=", 1) for line in values(COMMON, "Environment") for variable in line.split()
    )
    assert variables["OBSERVATORY_DATA_DIR"] == f"/var/lib/{folder}"
    for path in SERVICES.values():
        # what would open again what common.conf closes
        assert not re.search(
            r"^(User|Protect\w+|Private\w+|ReadWritePaths|SystemCall\w+)=", path.read_text(), re.MULTILINE
        )
