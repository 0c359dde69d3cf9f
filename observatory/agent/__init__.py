"""The agent: runs inside the observed cluster and sends Observatory what Dask's own endpoints leave out.

Start it with `dask scheduler --preload observatory.agent` or with `observatory.agent.register(client)`; see
docs/agent.md. It needs only `distributed`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Client

    from observatory.agent.runs import run

__all__ = ["dask_setup", "register", "run", "unregister"]

SCHEDULER = ("observatory.agent.scheduler.plugin", "SchedulerAgent")
NAME = "observatory"


def __getattr__(name: str) -> Any:
    """Imports `run` on first access, because it imports `distributed`."""
    if name == "run":
        from observatory.agent.runs import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


async def dask_setup(server: Any) -> None:
    """Dask's preload hook: installs the agent on a scheduler, which installs it on workers and nannies.

    Wrong settings are logged and the cluster starts without the agent.
    """
    from distributed import Scheduler

    if not isinstance(server, Scheduler):
        return
    from observatory.agent.configuration import ConfigurationError
    from observatory.agent.scheduler.plugin import SchedulerAgent, log

    try:
        agent = SchedulerAgent({})
    except ConfigurationError as error:
        log.error("Observatory's agent is off: %s", error)
        return
    await agent.start(server)
    server.add_plugin(agent, name=NAME, idempotent=True)


def register(client: Client, **settings: Any) -> asyncio.Future[None] | None:
    """Installs the agent on the running cluster of `client`.

    `settings` are those of docs/agent.md (`url`, `token`, `name` …). Settings that are not given come from
    the configuration of this process, then from that of the scheduler. The cluster does not need this
    package: its source is sent with the plugin. Registering again changes nothing. Where the scheduler is in
    this process, SIGTERM and SIGHUP end the agent before the process, unless they are handled already.
    Returns None, or what to await with an asynchronous client. Raises ConfigurationError for a wrong or
    missing setting.
    """
    from observatory.agent.process_end import handle_signals

    installing = _call(client, install, **settings)
    handle_signals()
    return installing


async def install(client: Client, **settings: Any) -> None:
    """As `register`, on the client's event loop."""
    from observatory.agent.configuration import local_settings
    from observatory.agent.naming import program_name
    from observatory.agent.plugin_bundle import pack

    payload = pack(*SCHEDULER, {**local_settings(**settings), "program": program_name()})
    scheduler: Any = client.scheduler
    await scheduler.register_scheduler_plugin(plugin=payload, name=NAME, idempotent=True)


def unregister(client: Client) -> asyncio.Future[None] | None:
    """Removes the agent from the cluster of `client`, after sending what it has recorded.

    Observatory does not resume scraping the cluster's tasks. Returns None, or what to await with an
    asynchronous client.
    """
    return _call(client, remove)


async def remove(client: Client) -> None:
    """As `unregister`, on the client's event loop."""
    scheduler: Any = client.scheduler
    await scheduler.observatory_unregister()


def _call(client: Client, function: Callable[..., Any], **settings: Any) -> asyncio.Future[None] | None:
    """Calls `function` on the client's event loop, which may be the running one: then as a task."""
    called = client.sync(function, client, **settings)
    return asyncio.ensure_future(called) if client.asynchronous else None
