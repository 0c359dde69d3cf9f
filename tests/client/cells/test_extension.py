"""What `%%observe` does to a cell: nothing, whatever happens to the run and to the panel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from distributed import Client, LocalCluster
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

import observatory
from observatory.client.cells import extension
from observatory.client.cells.observed_cell import NO_CLIENT, NO_OBSERVATORY
from observatory.client.cells.panel import VIEW, CellOutput
from tests.support.projects import HOSTILE

WORKERS = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "protocol": "tcp://"}


class Shell:
    """An IPython with the extension, the runs that it opened, and what its cells displayed."""

    def __init__(self) -> None:
        self.ipython = InteractiveShell.instance()
        self.publisher = self.ipython.display_pub = CapturingDisplayPublisher()
        self.runs: list[Any] = []
        extension.load(self.ipython, self._open)
        self.runs.clear()

    def run(self, code: str) -> Any:
        """The result of a cell."""
        return self.ipython.run_cell(code, store_history=True)

    @property
    def outcomes(self) -> list[str]:
        return [run.outcome for run in self.runs]

    @property
    def texts(self) -> list[str]:
        return [output["data"]["text/plain"] for output in self.publisher.outputs]

    def _open(self, *arguments: Any, **options: Any) -> Any:
        self.runs.append(observatory.run(*arguments, **options))
        return self.runs[-1]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    monkeypatch.delenv("OBSERVATORY_URL", raising=False)
    monkeypatch.delenv("OBSERVATORY_ACCESS_TOKEN", raising=False)
    shell = Shell()
    yield shell
    extension.unload(shell.ipython)
    InteractiveShell.clear_instance()


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(**WORKERS, dashboard_address="127.0.0.1:0") as cluster:
        yield cluster


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as client:
        yield client


def test_the_last_value_is_the_result_and_the_run_has_the_cells_code(shell: Shell, client: Client) -> None:
    result = shell.run("%%observe nightly etl\nx = 20\nx + 1")
    assert result.result == 21
    assert shell.ipython.user_ns["x"] == 20
    assert shell.outcomes == ["finished"]
    description = shell.runs[0].description
    assert (description["name"], description["code"]) == (
        "nightly etl",
        "%%observe nightly etl\nx = 20\nx + 1",
    )
    assert shell.run("x + 2").result == 22
    assert len(shell.runs) == 1


def test_an_error_is_the_cells_own_at_its_line(shell: Shell, client: Client) -> None:
    result = shell.run("%%observe\nx = 1\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    traceback = result.error_in_exec.__traceback__
    while traceback.tb_next:
        traceback = traceback.tb_next
    assert traceback.tb_lineno == 3
    assert shell.outcomes == ["erred"]


def test_an_interrupted_cell_ends_its_run(shell: Shell, client: Client) -> None:
    result = shell.run("%%observe\nraise KeyboardInterrupt")
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    assert shell.outcomes == ["erred"]
    shell.run("%%observe\nimport asyncio\nawait asyncio.sleep(0)\nraise asyncio.CancelledError")
    assert shell.outcomes == ["erred", "erred"]


@pytest.mark.parametrize(
    "magics",
    [
        "%%observe outer\n%%time\n",
        "%%time\n%%observe outer\n",
        "%%observe outer\n%%capture captured\n",
        "%%capture captured\n%%observe outer\n",
        "%%observe outer\n%%observe inner\n",
    ],
)
def test_cell_magics_can_be_nested(shell: Shell, client: Client, magics: str) -> None:
    shell.run(f"{magics}value = 41 + 1")
    assert shell.ipython.user_ns["value"] == 42
    assert set(shell.outcomes) == {"finished"}
    assert len(shell.runs) == magics.count("%%observe")
    assert shell.run("1 + 1").result == 2


def test_a_cell_that_runs_another_one_ends_when_it_ends_itself(shell: Shell, client: Client) -> None:
    shell.run("%%observe\nget_ipython().run_cell('1 + 1')\nbetween = [run.outcome for run in runs]")
    shell.ipython.user_ns["runs"] = shell.runs
    shell.run("%%observe\nget_ipython().run_cell('1 + 1')\nbetween = [run.outcome for run in runs]")
    assert shell.ipython.user_ns["between"][-1] == "running"
    assert shell.outcomes[-1] == "finished"


def test_await_and_no_code_and_wrong_code(shell: Shell, client: Client) -> None:
    assert shell.run("%%observe\nimport asyncio\nawait asyncio.sleep(0, 'slept')").result == "slept"
    assert shell.run("%%observe only a name").success
    assert shell.outcomes == ["finished", "finished"]
    assert isinstance(shell.run("%%observe\nx = = 1").error_before_exec, SyntaxError)
    assert len(shell.runs) == 2


@pytest.mark.parametrize(
    "name", [HOSTILE, "it's", '"', "--client", "{", "$x {y", "%s\\", "?", "\u202e\x1b[31m", "x" * 9_999]
)
def test_any_text_is_a_name(shell: Shell, client: Client, name: str) -> None:
    assert shell.run(f"%%observe {name}\n1 + 1").result == 2
    assert shell.outcomes == ["finished"]
    html = shell.publisher.outputs[-1]["data"]["text/html"]
    assert "<img" not in html
    assert "\x1b" not in shell.texts[-1]


def test_of_two_clients_the_current_one_is_observed_or_the_one_that_is_named(
    shell: Shell, cluster: LocalCluster, client: Client
) -> None:
    with Client(cluster) as newer:
        shell.ipython.user_ns.update(older=client, number=1)
        shell.run("%%observe\n1")
        shell.run("%%observe --client older nightly\n1")
        assert [run._client for run in shell.runs] == [newer, client]
        assert shell.runs[1].description["name"] == "nightly"
        for wrong in ("number", "missing"):
            assert "is not a Dask client" in str(shell.run(f"%%observe --client {wrong}\n1").error_in_exec)
        assert len(shell.runs) == 2


def test_without_a_client_the_cell_runs_and_the_output_says_what_is_missing(shell: Shell) -> None:
    assert shell.run("%%observe\n1 + 1").result == 2
    assert NO_CLIENT in shell.texts[-1]
    assert shell.run("%%observe\n1 / 0").error_in_exec


def test_without_an_observatory_the_output_says_how_to_get_one(shell: Shell, client: Client) -> None:
    assert shell.run("%%observe nightly\n1 + 1").result == 2
    assert NO_OBSERVATORY in shell.texts[-1]
    assert "Run “nightly”: finished" in shell.texts[-1]
    assert VIEW not in shell.publisher.outputs[-1]["data"]


def test_an_observatory_that_is_gone_changes_nothing_for_the_cell(
    shell: Shell, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBSERVATORY_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OBSERVATORY_ACCESS_TOKEN", "obp_x")
    assert shell.run("%%observe\n1 + 1").result == 2
    assert shell.outcomes == ["finished"]


@pytest.mark.parametrize("method", ["show", "update", "keep", "replace"])
def test_a_panel_that_fails_changes_nothing_for_the_cell(
    shell: Shell, client: Client, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(CellOutput, method, fail)
    assert shell.run("%%observe\n1 + 1").result == 2
    assert shell.run("1 + 2").result == 3


def test_loading_twice_observes_once_and_unloading_ends_it(shell: Shell, client: Client) -> None:
    extension.load(shell.ipython, observatory.run)
    shell.run("%%observe\n1")
    assert len(shell.runs) == 1
    extension.unload(shell.ipython)
    extension.unload(shell.ipython)
    assert shell.ipython.transform_cell("%%observe\n1").startswith("get_ipython().run_cell_magic")
    assert shell.run("1 + 1").result == 2
    assert len(shell.runs) == 1
