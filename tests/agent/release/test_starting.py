"""Which environment and command line a process gets that is started with a release."""

from __future__ import annotations

from typing import Any

import pytest
from dask import config

from observatory.agent.release.configuration_file import Release
from observatory.agent.release.starting import INHERITED, arguments_of, environment_of


def release(environment: dict[str, str] | None = None, **sections: dict[str, Any]) -> Release:
    every: dict[str, Any] = {"scheduler": {}, "worker": {}, "client": {}}
    return Release("a", environment or {}, every | sections)


def configured(environment: dict[str, str]) -> dict[str, Any]:
    """What Dask reads from the environment."""
    found: dict[str, Any] = config.collect_env(environment)
    found.pop("internal_inherit_config", None)
    return found


def test_the_file_wins_over_the_variables_of_dask_and_leaves_the_others() -> None:
    wanted = release(worker={"distributed": {"worker": {"memory": {"target": 0.5}}}})
    given = {
        "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET": "0.9",
        "DASK_DISTRIBUTED__WORKER__MEMORY": '{"spill": 0.8}',
        "DASK_TEMPORARY_DIRECTORY": "/scratch",
        "HOME": "/home/me",
    }
    found = environment_of(wanted, "worker", given)
    assert configured(found) == {
        "distributed": {"worker": {"memory": {"spill": 0.8, "target": 0.5}}},
        "temporary_directory": "/scratch",
    }
    assert found["HOME"] == "/home/me"
    assert "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET" not in found


def test_what_a_parent_process_handed_down_stays_where_the_file_is_silent() -> None:
    given = {INHERITED: config.serialize({"array": {"chunk-size": "1MiB"}, "temporary-directory": "/a"})}
    found = environment_of(release(client={"temporary_directory": "/b"}), "client", given)
    assert configured(found) == {"array": {"chunk-size": "1MiB"}, "temporary-directory": "/b"}


def test_variables_of_the_file_win_over_those_that_are_there() -> None:
    found = environment_of(release({"OMP_NUM_THREADS": "1"}), "worker", {"OMP_NUM_THREADS": "8", "A": "b"})
    assert (found["OMP_NUM_THREADS"], found["A"]) == ("1", "b")


def test_a_scheduler_gets_the_agent_beside_its_own_preloads() -> None:
    own = {"distributed": {"scheduler": {"preload": ["mine"], "preload-argv": [["--x"]]}}}
    scheduler = configured(environment_of(release(scheduler=own), "scheduler", {}))["distributed"][
        "scheduler"
    ]
    assert scheduler == {"preload": ["mine", "observatory.agent"], "preload-argv": [["--x"], []]}
    assert own["distributed"]["scheduler"]["preload"] == ["mine"]
    without = configured(environment_of(None, "scheduler", {}))
    assert without == {"distributed": {"scheduler": {"preload": ["observatory.agent"]}}}


def test_a_worker_gets_no_preload() -> None:
    assert environment_of(None, "worker", {"A": "b"}) == {"A": "b"}


@pytest.mark.parametrize("option", [["--preload", "mine"], ["--preload=mine"]])
def test_preloads_of_the_command_line_replace_configured_ones_so_the_agent_is_among_them(
    option: list[str],
) -> None:
    command = ["dask", "scheduler", *option, "--port", "0"]
    assert arguments_of(command, "scheduler") == [
        "dask", "scheduler", "--preload", "observatory.agent", *option, "--port", "0",
    ]  # fmt: skip
    assert arguments_of(command, "worker") == command
    assert arguments_of(["dask", "scheduler", "--port", "0"], "scheduler")[2:] == ["--port", "0"]


def test_a_release_of_the_process_before_is_not_handed_on() -> None:
    assert environment_of(None, "worker", {"OBSERVATORY_RELEASE": "{}"}) == {}
