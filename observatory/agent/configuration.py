"""The agent's settings: what is given, then the environment, then Dask's configuration, then the defaults."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dask.config
from dask.utils import parse_bytes, parse_timedelta

ENVIRONMENT = {"url": "OBSERVATORY_URL", "token": "OBSERVATORY_TOKEN", "name": "OBSERVATORY_NAME"}


class ConfigurationError(ValueError):
    """A setting that is missing or wrong; the message names it."""


@dataclass(frozen=True)
class Configuration:
    url: str = ""
    """where Observatory is: https://observatory.example.org"""
    token: str = field(default="", repr=False)
    """an ingest token of the project that the cluster belongs to"""
    name: str = ""
    """of the cluster; empty: the scheduler's id"""
    memory_limit: int = 64 * 2**20
    """bytes of batches that wait in memory; beyond it they go to the spool"""
    spool_limit: int = 2**30
    """bytes of the spool; beyond it the least important, oldest records are dropped and counted"""
    spool_directory: str = ""
    """where what can't be sent is kept; empty: a private folder of the system's temporary one"""
    flush_interval: float = 1.0
    """seconds between two batches"""
    close_timeout: float = 10.0
    """seconds that the scheduler waits at its end for the last batches to be stored"""
    log_level: str = "INFO"
    """from which level on Dask's own loggers are recorded"""
    loggers: Mapping[str, str] = field(default_factory=dict)
    """further loggers and from which level on: {"my_package": "DEBUG"}"""
    key_edges_limit: int = 100_000
    """tasks and edges of one graph that are recorded one by one; of larger graphs only the groups'"""
    sample_interval: float = 1.0
    """seconds between two samples of the scheduler and its workers"""
    verify: str = "true"
    """whether the server's certificate is checked: true, false, or a file of certificates to trust"""

    @property
    def log_levels(self) -> dict[str, int]:
        """By logger."""
        levels = {"distributed": self.log_level, **self.loggers}
        return {name: _level(level) for name, level in levels.items()}

    def for_workers(self) -> dict[str, Any]:
        """What workers and nannies need to know: nothing that is secret."""
        return {
            "log_level": self.log_level,
            "loggers": dict(self.loggers),
            "sample_interval": self.sample_interval,
            "profile": True,
        }


def told(**given: Any) -> dict[str, Any]:
    """The settings that are given or set in this process: what a client takes along to a scheduler."""
    _known(given)
    found = {name: value for name in _names() if (value := _set(name, {})) is not None}
    return {**found, **given}


def read_configuration(**given: Any) -> Configuration:
    """Raises ConfigurationError."""
    _known(given)
    values = {}
    for name, default in asdict(Configuration()).items():
        value = _set(name, given)
        if value is not None:
            values[name] = _read(name, value, default)
    configuration = Configuration(**values)
    _check(configuration)
    return configuration


def _names() -> list[str]:
    return [found.name for found in fields(Configuration)]


def _known(given: Mapping[str, Any]) -> None:
    unknown = sorted(given.keys() - set(_names()))
    if unknown:
        raise ConfigurationError(f"there is no setting {unknown[0]!r}; there are {', '.join(_names())}")


def _set(name: str, given: Mapping[str, Any]) -> Any:
    """What the setting is set to, None when it isn't."""
    if given.get(name) is not None:
        return given[name]
    if os.environ.get(ENVIRONMENT.get(name, "")):
        return os.environ[ENVIRONMENT[name]]
    return dask.config.get(f"observatory.{name.replace('_', '-')}", None)


def _read(name: str, value: Any, default: Any) -> Any:
    parse: Callable[[Any], Any]
    if name == "key_edges_limit":
        parse = int
    elif name in ("memory_limit", "spool_limit"):
        parse = parse_bytes
    elif isinstance(default, float):
        parse = _seconds
    elif isinstance(default, Mapping):
        parse = dict
    else:
        parse = str
    try:
        return parse(value)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ConfigurationError(
            f"observatory.{name.replace('_', '-')}: {value!r} isn't understood"
        ) from None


def _seconds(value: Any) -> float:
    return float(parse_timedelta(value, default="s"))


def _check(configuration: Configuration) -> None:
    if not configuration.url:
        raise ConfigurationError(
            "observatory.url isn't set: where Observatory is, as in http://observatory:8000"
        )
    parts = urlsplit(configuration.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"observatory.url: {configuration.url!r} is no address that begins with http(s)://"
        )
    if not configuration.token:
        raise ConfigurationError("observatory.token isn't set: make an ingest token on the project's page")
    for name in ("flush_interval", "sample_interval"):
        if not 0.05 <= getattr(configuration, name) <= 3600:
            raise ConfigurationError(
                f"observatory.{name.replace('_', '-')} has to be between 50 ms and an hour"
            )
    for name in ("memory_limit", "spool_limit", "key_edges_limit"):
        if getattr(configuration, name) < 0:
            raise ConfigurationError(f"observatory.{name.replace('_', '-')} can't be negative")
    for level in (configuration.log_level, *configuration.loggers.values()):
        _level(level)


def _level(name: str) -> int:
    level = logging.getLevelName(str(name).upper())
    if not isinstance(level, int):
        raise ConfigurationError(
            f"observatory.log-level: {name!r} is none of DEBUG, INFO, WARNING, ERROR, CRITICAL"
        )
    return level


def spool_directory(configuration: Configuration) -> Path:
    """Where the spool is."""
    if configuration.spool_directory:
        return Path(configuration.spool_directory)
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"dask-observatory-spool-{user}"
