"""pytest's option `--observe`: each test with the mark `observe` is a run, `@pytest.mark.observe`.

The test, or a fixture of it, has a Dask client by the time that the test's function is called. Without the
option the mark does nothing. It never makes a test fail. With `--observe-to` no server is needed: each run is
written to a bundle.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from observatory.wire.client_code.runs import BUNDLE_SUFFIX, NOT_RECORDED

MARK = "observe"
PLAIN_ID = r"[\w./]+(?:::\w+)*"
LONGEST_STEM = 150
"""characters of a bundle's name, which file systems limit to 255 bytes"""
LINE = f"{MARK}(name, tags): with --observe, the test is a run of Dask Observatory"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("observatory", "Dask Observatory")
    group.addoption(
        "--observe", action="store_true", help="record each test that is marked `observe` as a run"
    )
    group.addoption(
        "--observe-to", metavar="FOLDER", help="the same, in bundles in a folder, without a server"
    )
    group.addoption(
        "--observe-list",
        metavar="FILE",
        help="writes these runs, by name or bundle, to a file, for `check @FILE`",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", LINE)
    path, folder = config.getoption("--observe-list"), config.getoption("--observe-to")
    if path and not hasattr(config, "workerinput"):  # pytest-xdist's processes add to it
        Path(path).write_text("")
    if folder:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise pytest.UsageError(f"--observe-to: {error}") from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    mark = item.get_closest_marker(MARK)
    is_observed = item.config.getoption("--observe") or item.config.getoption("--observe-to")
    run = _begun(item, *_described(item, mark)) if mark is not None and is_observed else None
    if run is None:
        return (yield)
    try:
        result = yield
    except (pytest.skip.Exception, pytest.xfail.Exception):
        run.__exit__(None, None, None)
        raise
    except BaseException as error:
        run.__exit__(type(error), error, error.__traceback__)
        raise
    run.__exit__(None, None, None)
    return result


def _described(item: pytest.Item, mark: pytest.Mark) -> tuple[str, Mapping[str, Any]]:
    """The name and the tags of a test's run."""
    name = mark.args[0] if mark.args else mark.kwargs.get("name")
    tags = mark.args[1] if len(mark.args) > 1 else mark.kwargs.get("tags")
    return name if isinstance(name, str) and name else item.nodeid, tags if isinstance(tags, Mapping) else {}


def _begun(item: pytest.Item, name: str, tags: Mapping[str, Any]) -> Any:
    """An open run on the current client's cluster, which gets the agent; None where it can't be recorded."""
    from distributed import Client

    try:
        client = Client.current()
    except ValueError:
        _warn(item, "it has no Dask client when it begins: make one in a fixture")
        return None
    if client.asynchronous:
        _warn(item, "its Dask client is asynchronous: open the run in the test with observatory.run")
        return None
    try:
        run = _run(item, client, name, tags)
        with suppress(OSError, TypeError, AttributeError):  # no source is available
            run.description["code"] = inspect.getsource(item.function)  # type: ignore[attr-defined]
        run.warn = partial(_warn, item)
        run.__enter__()
    except Exception as error:  # wrong settings, or a cluster that is gone or has another agent
        _warn(item, f"{type(error).__name__}: {error}")
        return None
    _list(item.config, run.file or run.description["name"])
    return run


def _run(item: pytest.Item, client: Any, name: str, tags: Mapping[str, Any]) -> Any:
    import observatory
    from observatory.agent import register
    from observatory.agent.configuration import local_settings

    folder = item.config.getoption("--observe-to")
    if folder:
        return observatory.run(name, tags, client=client, to=_bundle(Path(folder), item.nodeid))
    if local_settings().get("url"):
        register(client)
    return observatory.run(name, tags, client=client)


def _bundle(folder: Path, test: str) -> Path:
    """The file of a test, by its node id. A digest tells ids apart that differ in other characters."""
    stem = re.sub(r"[^\w.]+", "-", test, flags=re.ASCII).strip("-.")
    if len(stem) > LONGEST_STEM or not re.fullmatch(PLAIN_ID, test, re.ASCII):
        stem = f"{stem[:LONGEST_STEM]}-{sha256(test.encode()).hexdigest()[:8]}"
    return folder / f"{stem}{BUNDLE_SUFFIX}"


def _list(config: pytest.Config, run: str) -> None:
    path = config.getoption("--observe-list")
    if path:
        with open(path, "a") as file:  # one write, as processes of pytest-xdist share the file
            file.write(f"{run}{os.linesep}")


def _warn(item: pytest.Item, reason: str, what: str = NOT_RECORDED) -> None:
    item.warn(pytest.PytestWarning(f"this test {what}: {reason}"))
