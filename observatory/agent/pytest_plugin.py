"""pytest's option `--observe`: each test with the mark `observe` is a run, `@pytest.mark.observe`.

The test, or a fixture of it, has a Dask client by the time that the test's function is called. Without the
option the mark does nothing. It never makes a test fail.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

MARK = "observe"
LINE = f"{MARK}(name, tags): with --observe, the test is a run of Dask Observatory"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("observatory", "Dask Observatory")
    group.addoption(
        "--observe", action="store_true", help="record each test that is marked `observe` as a run"
    )
    group.addoption(
        "--observe-list", metavar="FILE", help="writes the names of these runs to a file, for `check @FILE`"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", LINE)
    path = config.getoption("--observe-list")
    if path and not hasattr(config, "workerinput"):  # pytest-xdist's processes add to it
        Path(path).write_text("")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    mark = item.get_closest_marker(MARK)
    if mark is None or not item.config.getoption("--observe"):
        return (yield)
    run = _run(item, *_described(item, mark))
    if run is None:
        return (yield)
    _list(item.config, run.description["name"])
    with run:
        try:
            return (yield)
        except (pytest.skip.Exception, pytest.xfail.Exception) as ended:
            outcome = ended
    raise outcome


def _described(item: pytest.Item, mark: pytest.Mark) -> tuple[str, Mapping[str, Any]]:
    """The name and the tags of a test's run."""
    name = mark.args[0] if mark.args else mark.kwargs.get("name")
    tags = mark.args[1] if len(mark.args) > 1 else mark.kwargs.get("tags")
    return name if isinstance(name, str) and name else item.nodeid, tags if isinstance(tags, Mapping) else {}


def _run(item: pytest.Item, name: str, tags: Mapping[str, Any]) -> Any:
    """The run on the current client's cluster, which gets the agent; None where there is no client."""
    from distributed import Client

    import observatory
    from observatory.agent import register
    from observatory.agent.configuration import local_settings

    try:
        client = Client.current()
    except ValueError:
        _warn(item, "it has no Dask client when it begins: make one in a fixture")
        return None
    if client.asynchronous:
        _warn(item, "its Dask client is asynchronous: open the run in the test with observatory.run")
        return None
    try:
        if local_settings().get("url"):
            register(client)
    except Exception as error:  # wrong settings, or a cluster that is gone
        _warn(item, f"{type(error).__name__}: {error}")
        return None
    run = observatory.run(name, tags, client=client)
    with suppress(Exception):  # no source is available
        run.description["code"] = inspect.getsource(item.function)  # type: ignore[attr-defined]
    return run


def _list(config: pytest.Config, name: str) -> None:
    path = config.getoption("--observe-list")
    if path:
        with open(path, "a") as file:  # one write, as processes of pytest-xdist share the file
            file.write(f"{name}{os.linesep}")


def _warn(item: pytest.Item, reason: str) -> None:
    item.warn(pytest.PytestWarning(f"this test is not recorded by Observatory: {reason}"))
