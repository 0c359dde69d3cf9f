"""The environment and the command line of a process that is started with a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dask import config

from observatory.agent.release.configuration_file import Release
from observatory.agent.release.release_facts import VARIABLE, leaves, record_of
from observatory.agent.release.schemas import canonical

PREFIX = "DASK_"
INHERITED = "DASK_INTERNAL_INHERIT_CONFIG"
"""Dask's own way to hand configuration down to a process. Variables DASK_… win over it, it over files."""
AGENT = "observatory.agent"
OPTION = "--preload"


def environment_of(release: Release | None, section: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that is started with a section of a release.

    The file wins over variables DASK_… for the same keys, so that what is recorded is what runs.
    """
    found = dict(environ)
    found.pop(VARIABLE, None)
    configuration: Mapping[str, Any] = release.sections[section] if release is not None else {}
    if section == "scheduler":
        configuration = config.merge(configuration, _with_agent(configuration))
    overridden = list(overridden_variables(configuration, found))
    handed_down = {name: found[name] for name in (*overridden, INHERITED) if name in found}
    collected = config.collect_env(handed_down)
    collected.pop(INHERITED.removeprefix(PREFIX).lower(), None)  # Dask keeps the variable itself as well
    merged = config.merge(collected, configuration)
    for name in overridden:
        del found[name]
    if release is not None:
        found |= release.environment
        found[VARIABLE] = record_of(release, section, found | handed_down)
    return {**found, INHERITED: config.serialize(merged)} if merged else found


def overridden_variables(configuration: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[str]:
    """Yields the variables that set a key of the configuration, or one above or below it."""
    keys = [canonical(f"{key}.").lower() for key, _ in leaves(configuration)]
    for name in environ:
        if name.startswith(PREFIX) and name != INHERITED:
            own = canonical(name.removeprefix(PREFIX).lower().replace("__", ".")) + "."
            if any(key.startswith(own) or own.startswith(key) for key in keys):
                yield name


def arguments_of(command: Sequence[str], section: str) -> list[str]:
    """The command line, with the agent's preload where it has preloads: these replace the configured ones."""
    found = list(command)
    if section == "scheduler" and AGENT not in found and f"{OPTION}={AGENT}" not in found:
        for position, argument in enumerate(found):
            if argument == OPTION or argument.startswith(f"{OPTION}="):
                return [*found[:position], OPTION, AGENT, *found[position:]]
    return found


def _with_agent(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The scheduler's configured preloads, and the agent."""
    merged = config.merge(config.config, configuration)
    preloads = config.get("distributed.scheduler.preload", [], config=merged) or []
    preloads = [preloads] if isinstance(preloads, str) else list(preloads)
    arguments = config.get("distributed.scheduler.preload-argv", [], config=merged) or []
    if AGENT in preloads:
        return {}
    found: dict[str, Any] = {"preload": [*preloads, AGENT]}
    if arguments and not isinstance(arguments[0], str):  # a list for each preload
        found["preload-argv"] = [*arguments, []]
    return {"distributed": {"scheduler": found}}
