"""A configuration file is checked as a whole before anything is started with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from observatory.agent.release.commands import check_configuration
from observatory.agent.release.configuration_file import MOST_KEYS, MOST_VARIABLES, read_release
from observatory.agent.release.yaml_file import MOST_BYTES, MOST_LEVELS

GOOD = """
release: 2026.11.2
environment: {OMP_NUM_THREADS: "1"}
scheduler: {distributed: {scheduler: {work-stealing: true, worker_saturation: 1.1}}}
worker: {distributed: {worker: {memory: {target: 0.6, spill: false}}, nanny: {pre-spawn-environ: {A: 1}}}}
client: {distributed: {comm: {timeouts: {connect: 30s}}}}
"""


def problems(folder: Path, text: str | bytes) -> tuple[list[str], list[str]]:
    """The errors and the warnings of a file."""
    path = folder / "release.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    checked = read_release(path)
    assert (checked.release is None) == bool(checked.errors)
    return checked.errors, checked.warnings


def test_a_good_file_has_a_name_variables_and_three_sections(tmp_path: Path) -> None:
    assert problems(tmp_path, GOOD) == ([], [])
    release = read_release(tmp_path / "release.yaml").release
    assert release is not None
    assert (release.name, release.environment) == ("2026.11.2", {"OMP_NUM_THREADS": "1"})
    assert release.sections["client"] == {"distributed": {"comm": {"timeouts": {"connect": "30s"}}}}


def test_sections_may_be_left_out_or_empty(tmp_path: Path) -> None:
    assert problems(tmp_path, "release: a\nworker:\n") == ([], [])


def test_all_that_is_wrong_is_said_at_once_with_file_section_and_key(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(
        """
release: 2026.10
extra: {}
environment: {OMP_NUM_THREADS: 1, 2X: "1", DASK_X: "1", OBSERVATORY_RELEASE: a}
scheduler: {distributed: {scheduler: {work-staling: true, allowed-failures: "3"}}, observatory: {nam: a}}
worker:
  distributed: {worker: {memory: {target: 60%}, connections: {outgoing: -1}, multiprocessing-method: thread}}
  distributed.comm.retry.count: 3
client: []
"""
    )
    done = CliRunner().invoke(check_configuration, [str(path)])
    assert done.exit_code == 1
    assert done.stderr.splitlines() == [
        f"{path}: {line}"
        for line in (
            "warning: scheduler: distributed.scheduler.work-staling: is not known to Dask's schema;"
            " the nearest one is distributed.scheduler.work-stealing",
            "warning: scheduler: observatory.nam: is not known to Dask's schema;"
            " the nearest one is observatory.name",
            "error: extra: unknown; there are release, environment, scheduler, worker, client",
            'error: release: must be text: write it in quotes, as in "2026.10"',
            'error: environment: OMP_NUM_THREADS: must be text: write it in quotes, as in "1"',
            "error: environment: 2X: is no name of a variable",
            "error: environment: DASK_X: can't be set here: use the sections scheduler, worker, client",
            "error: environment: OBSERVATORY_RELEASE: can't be set here:"
            " use the sections scheduler, worker, client",
            "error: scheduler: distributed.scheduler.allowed-failures:"
            " is text, must be an integer of at least 0",
            "error: worker: distributed.worker.memory.target:"
            " is text, must be a number of more than 0 and at most 1 or false",
            "error: worker: distributed.worker.connections.outgoing:"
            " is an integer, must be an integer of at least 0",
            "error: worker: distributed.worker.multiprocessing-method:"
            " is text, must be one of spawn, fork, forkserver",
            "error: worker: distributed.comm.retry.count:"
            " write a key with dots as nested keys: Dask doesn't read it",
            "error: client: must be a mapping: Dask's configuration",
        )
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("- a", "must be a mapping with release, environment, scheduler, worker, client"),
        ("", "must be a mapping with release, environment, scheduler, worker, client"),
        ("release: a\nworker: {a: 1, a: 2}", "line 2: the key 'a' is there twice"),
        ("release: &a x\nworker: {b: *a}", "line 2: aliases (*) are not allowed"),
        ("release: a\nworker: " + "[" * 40, f"line 2: more than {MOST_LEVELS} levels"),
        ("release: [", "line 1: expected the node content, but found '<stream end>'"),
        ("release: 2026-13-45", "is no valid YAML"),
        (b"release: \xff", "is not UTF-8 text"),
        ("release: a\n" + "#" * MOST_BYTES, f"is larger than {MOST_BYTES // 1024} KiB"),
        ("release: !!python/object/apply:os.getcwd []", "line 1: could not determine a constructor for"),
        ("worker: {}", "release: is missing: give the release a name"),
        ("release: ' '", "release: must have 1 to 100 printable characters"),
        ("release: 2026-11-02", 'release: must be text: write it in quotes, as in "2026.10"'),
        ("release: a\nenvironment: [A]", "environment: must be a mapping of variables"),
        (
            "release: a\nenvironment: {A: '" + "x" * 3000 + "'}",
            "environment: A: must have at most 2,000 characters, and no null character",
        ),
        ("release: a\nworker: {on: 1}", "worker: True: a key must be text of at most 100 characters"),
        (
            "release: a\nworker: {temporary-directory: 2026-11-02}",
            "worker: temporary-directory: is neither text, number, true, false nor null: write it in quotes",
        ),
        (
            "release: a\nworker: {temporary-directory: " + "x" * 3000 + "}",
            "worker: temporary-directory: is longer than 2,000 characters",
        ),
        ("release: a\nworker: {distributed: null}", "worker: distributed: is null, must be a mapping"),
        (
            "release: a\nworker: {" + ", ".join(f"a{n}: 1" for n in range(MOST_KEYS + 1)) + "}",
            f"worker: has more than {MOST_KEYS} keys",
        ),
        (
            "release: a\nenvironment: {" + ", ".join(f"A{n}: '1'" for n in range(MOST_VARIABLES + 1)) + "}",
            f"environment: has more than {MOST_VARIABLES} variables",
        ),
    ],
)
def test_a_wrong_file_has_one_clear_error(tmp_path: Path, text: str | bytes, error: str) -> None:
    [found], _ = problems(tmp_path, text)
    assert found.startswith(error)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = CliRunner().invoke(check_configuration, [str(tmp_path / "none.yaml")])
    assert (done.exit_code, done.stderr) == (
        1,
        f"{tmp_path}/none.yaml: error: can't be read: No such file or directory\n",
    )


def test_errors_have_no_values_because_these_may_be_secret(tmp_path: Path) -> None:
    [error], _ = problems(tmp_path, "release: a\nscheduler: {observatory: {token: [hunter2222]}}")
    assert error == "scheduler: observatory.token: is a list, must be text"


def test_the_defaults_of_dask_are_right_by_its_schemas_so_that_no_good_file_is_refused() -> None:
    import distributed  # noqa: F401 sets the defaults
    from dask import config

    from observatory.agent.release.schemas import check

    defaults = config.merge(*config.defaults)
    assert [problem for problem in check(defaults) if problem.is_error] == []
