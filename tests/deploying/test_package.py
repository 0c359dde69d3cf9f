"""The wheel: what it contains, what it depends on, what works without extras."""

from __future__ import annotations

import ast
import re
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

from observatory import __version__
from tests.agent.environments import ENVIRONMENTS, UV
from tests.runtime.machine import METRICS, Machine, eventually, manage, recorded_clusters

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "observatory"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LIGHT = (
    *("__init__.py", "__main__.py", "agent", "wire"),
    *("client/__init__.py", "client/connection.py", "client/check/"),
    *("client/opened_runs.py", "client/run.py", "client/settings.py", "client/shown.py"),
)
LIGHT_IN_RUNTIME = ("runtime/__init__.py", "runtime/command_line.py")
EXTRA_OF = {
    "agent/pytest_plugin.py": "ci",
    "assistants/": "mcp",
    "client/cells/": "notebook",
    "client/figures/": "notebook",
    "client/polars_frames.py": "notebook",
    "client/": "client",
    "client/check/junit.py": "ci",
    "config/logging/error_reports.py": "sentry",
    "exchange/receivers/sentry/envelopes.py": "sentry",
    "pages/accounts/single_sign_on/saml/": "saml",
    "runtime/demo/": "demo",
}
"""folders and modules whose libraries are in an extra of their own; those of the others are in `server`"""
WITHOUT_DISTRIBUTION = {*sys.stdlib_module_names, "observatory"}
USED_BY_OTHERS = {"gilknocker": "distributed measures contention for the GIL with it"}

PROGRAMS = {"native-profile": "the agent runs py-spy"}
"""extras of programs, which nothing imports"""


def normalized(requirement: str) -> str:
    """The distribution that a requirement names."""
    name = re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


BASE = {normalized(requirement) for requirement in PROJECT["dependencies"]}
EXTRAS = {
    extra: {normalized(requirement) for requirement in requirements} - {"dask-observatory"}
    for extra, requirements in PROJECT["optional-dependencies"].items()
    if extra not in PROGRAMS
}


@cache
def distribution_of() -> dict[str, str]:
    """The distribution of each importable module."""
    found = {module: normalized(names[0]) for module, names in packages_distributions().items()}
    # psycopg[pool]; opentelemetry is a namespace of many
    return found | {"psycopg_pool": "psycopg", "opentelemetry": "opentelemetry-proto"}


def group_of(path: Path) -> str:
    """The extra that a module belongs to; "" for what works without one."""
    place = path.relative_to(PACKAGE).as_posix()
    known = {**dict.fromkeys((*LIGHT, *LIGHT_IN_RUNTIME), ""), **EXTRA_OF}
    of = max((folder for folder in known if place.startswith(folder)), key=len, default=None)
    return "server" if of is None else known[of]


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All nodes of a module's syntax tree."""
    return list(ast.walk(ast.parse(path.read_text())))


def imports_of(path: Path) -> Iterator[str]:
    """The distributions that a module imports, at its top or in a function."""
    for node in nodes_of(path):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            module = name.partition(".")[0]
            if module not in WITHOUT_DISTRIBUTION:
                yield distribution_of()[module]


def names_of(path: Path) -> Iterator[str]:
    """The distributions that a module names in strings, as the settings do."""
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            module = node.value.partition(".")[0]
            if module in distribution_of():
                yield distribution_of()[module]


def modules(extra: str) -> list[Path]:
    found = [path for path in PACKAGE.rglob("*.py") if group_of(path) == extra]
    assert found
    return found


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_what_is_imported_is_declared(extra: str) -> None:
    declared = BASE | EXTRAS.get(extra, set()) | (EXTRAS["server"] if extra == "saml" else set())
    imported = {(library, path) for path in modules(extra) for library in imports_of(path)}
    assert [(library, path) for library, path in imported if library not in declared] == []


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_what_is_declared_is_used(extra: str) -> None:
    declared = EXTRAS[extra] if extra else BASE
    used = {library for path in modules(extra) for library in (*imports_of(path), *names_of(path))}
    assert declared - used - set(USED_BY_OTHERS) == set()


def test_without_extras_nothing_is_installed_but_what_distributed_needs_itself() -> None:
    assert {"distributed", *map(normalized, requires("distributed") or ())} >= BASE


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(ROOT)], check=True)
    [built] = folder.iterdir()
    return built


@pytest.fixture(scope="session")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    return folder


def test_the_wheel_has_the_package_with_its_templates_and_scripts_and_nothing_else(wheel: Path) -> None:
    assert wheel.name == f"dask_observatory-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "observatory", "frontend"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    expected = {
        f"observatory/{path}" if path.startswith("frontend/") else path
        for path in listed
        if (ROOT / path).exists()
    }
    metadata = {name for name in names if name.startswith(f"dask_observatory-{__version__}.dist-info/")}
    assert names - metadata == expected
    assert {"observatory/py.typed", "observatory/pages/site/base.html"} <= expected


def run(interpreter: Path, unpacked: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(unpacked), "PATH": "/usr/bin:/bin"}
    command = [str(interpreter), *arguments]
    return subprocess.run(
        command, cwd=unpacked.parent, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.long
def test_the_oldest_python_and_distributed_run_the_agent_and_the_connection_of_the_client(
    unpacked: Path,
) -> None:
    oldest = ENVIRONMENTS[0].interpreter()
    light = [path for path in modules("") if path.name != "__main__.py"]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in light]
    code = "".join(f"import {name.removesuffix('.__init__')}\n" for name in names)
    done = run(oldest, unpacked, "-c", f"{code}from observatory.client import Connection\nobservatory.run")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long
def test_the_client_without_its_extra_says_how_to_install_it(unpacked: Path) -> None:
    done = run(
        ENVIRONMENTS[0].interpreter(), unpacked, "-c", "from observatory.client import ObservatoryClient"
    )
    assert done.stderr.splitlines()[-1] == (
        "ImportError: ObservatoryClient needs numpy: pip install 'dask-observatory[client]'"
    )


@pytest.mark.long
def test_dask_has_the_command_and_where_python_is_too_old_for_the_server_it_says_so(unpacked: Path) -> None:
    oldest = ENVIRONMENTS[0].interpreter()
    done = run(oldest, unpacked, "-m", "dask", "observatory", "--version")
    assert done.stdout == f"dask-observatory {__version__}\n"
    done = run(oldest, unpacked, "-m", "dask", "observatory", "up", "--port", "0")
    assert done.stderr.startswith("Error: this command needs Python 3.11 or newer; this is 3.10.")


@pytest.mark.long
def test_without_the_server_the_command_says_how_to_install_it(unpacked: Path) -> None:
    newest = ENVIRONMENTS[-1].interpreter()
    done = run(newest, unpacked, "-m", "observatory", "up")
    assert done.returncode == 1
    assert done.stderr == "Error: django is not installed: pip install 'dask-observatory[server]'\n"


@pytest.mark.long
def test_installed_from_the_wheel_the_demo_runs_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    environment, folder = tmp_path / "environment", tmp_path / "empty"
    folder.mkdir()
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run([UV, "pip", "install", "--quiet", "--python", python, f"{wheel}[server]"], check=True)
    program = [str(environment / "bin" / "dask-observatory")]
    machine = Machine(tmp_path / "data", program, folder)
    machine.start(command="demo")
    try:
        status, page = machine.answer("/sign-in/")
        assert (status, "Dask Observatory" in page) == (200, True)
        script = re.findall(r'src="(/static/[^"]+\.js)"', page)[0]
        assert machine.answer(script)[0] == 200
        eventually(lambda: recorded_clusters(machine), "the demo's cluster is recorded")
        assert (
            f'observatory_build_info{{version="{__version__}"}} 1.0'
            in machine.answer("/metrics", **METRICS)[1]
        )
        done = manage("doctor", "--data-dir", str(machine.data_dir), program=program, folder=folder)
        assert done.stdout.startswith(f"Dask Observatory {__version__}\n")
    finally:
        machine.end(signal.SIGTERM)
    assert list(folder.iterdir()) == []
