"""Runs inside the observed cluster and tells Observatory what Dask's own endpoints leave out.

`dask scheduler --preload observatory.agent`, or `observatory.agent.register(client)`: docs/agent.md. Needs
`distributed` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Client

    from observatory.agent.runs import run

__all__ = ["dask_setup", "register", "run", "unregister"]

SCHEDULER = ("observatory.agent.scheduler.plugin", "SchedulerAgent")
NAME = "observatory"


def __getattr__(name: str) -> Any:
    """`run`, which needs `distributed` at once, when it is asked for."""
    if name == "run":
        from observatory.agent.runs import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


async def dask_setup(server: Any) -> None:
    """Dask's preload: reports from a scheduler; workers and nannies get theirs from it.

    What is wrong with the settings is logged: a cluster starts without its observers rather than not at all.
    """
    from distributed import Scheduler

    if not isinstance(server, Scheduler):
        return
    from observatory.agent.configuration import ConfigurationError
    from observatory.agent.scheduler.plugin import SchedulerAgent, log

    try:
        agent = SchedulerAgent({})
    except ConfigurationError as error:
        log.error("Observatory's agent doesn't report: %s", error)
        return
    await agent.start(server)
    server.add_plugin(agent, name=NAME, idempotent=True)


def register(client: Client, **settings: Any) -> None:
    """Makes the cluster of `client` report to Observatory.

    `settings` are those of docs/agent.md (`url`, `token`, `name` …); the others come from the configuration
    of this process, then of the scheduler's. Works also where the package isn't installed: it is sent along.
    Registering again changes nothing. Raises ConfigurationError for a wrong or missing setting.
    """
    from observatory.agent.configuration import told
    from observatory.agent.plugin_bundle import pack

    payload = pack(*SCHEDULER, told(**settings))
    scheduler: Any = client.scheduler
    client.sync(scheduler.register_scheduler_plugin, plugin=payload, name=NAME, idempotent=True)


def unregister(client: Client) -> None:
    """Makes the cluster of `client` report no more, after what is known was sent.

    Observatory doesn't take up scraping its tasks again.
    """
    scheduler: Any = client.scheduler
    client.sync(scheduler.observatory_unregister)
