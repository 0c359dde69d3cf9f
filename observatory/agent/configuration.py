"""The agent's settings: what is given, then the environment, then Dask's configuration, then the defaults."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dask.config
from dask.utils import parse_bytes, parse_timedelta

ENVIRONMENT = {"url": "OBSERVATORY_URL", "token": "OBSERVATORY_TOKEN", "name": "OBSERVATORY_NAME"}
TOKEN = re.compile(r"[ -~]+")
"""what can be in a header's line"""
BOUNDS = {
    "memory_limit": (0, 2**50),
    "spool_limit": (0, 2**50),
    "flush_interval": (0.05, 3600),
    "close_timeout": (0, 3600),
    "key_edges_limit": (0, 10**9),
    "sample_interval": (0.05, 3600),
}


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
        return {name: _level(name, level) for name, level in levels.items()}

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
    if "url" in values:
        values["url"] = values["url"].rstrip("/")
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
    return dask.config.get(_shown(name), None)


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
        parse = _text
    try:
        return parse(value)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise ConfigurationError(f"{_shown(name)}: {value!r} isn't understood") from None


def _text(value: Any) -> str:
    """Files that tokens and addresses are read from end with a line's end."""
    return str(value).strip()


def _seconds(value: Any) -> float:
    return float(parse_timedelta(value, default="s"))


def _check(configuration: Configuration) -> None:
    _check_url(configuration.url)
    if not configuration.token:
        raise ConfigurationError("observatory.token isn't set: make an ingest token on the project's page")
    if not TOKEN.fullmatch(configuration.token):
        raise ConfigurationError("observatory.token has characters that no token has")
    for name, (least, most) in BOUNDS.items():
        if not least <= getattr(configuration, name) <= most:
            raise ConfigurationError(f"{_shown(name)} has to be between {least:g} and {most:g}")
    if configuration.verify.lower() not in ("true", "false") and not Path(configuration.verify).exists():
        raise ConfigurationError(
            f"observatory.verify: {configuration.verify!r} is neither true, false nor a file that is there"
        )
    configuration.log_levels  # noqa: B018 raises


def _check_url(url: str) -> None:
    if not url:
        raise ConfigurationError(
            "observatory.url isn't set: where Observatory is, as in http://observatory:8000"
        )
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # no port, no address in brackets
        is_address = False
    if not is_address or not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigurationError(f"observatory.url: {url!r} is no address that begins with http(s)://")
    if "@" in parts.netloc:
        raise ConfigurationError("observatory.url must not hold a password: there is observatory.token")


def _level(logger: str, name: str) -> int:
    level = logging.getLevelName(str(name).upper())
    if not isinstance(level, int):
        setting = "observatory.log-level" if logger == "distributed" else f"observatory.loggers, {logger!r}"
        raise ConfigurationError(f"{setting}: {name!r} is none of DEBUG, INFO, WARNING, ERROR, CRITICAL")
    return level


def _shown(name: str) -> str:
    return f"observatory.{name.replace('_', '-')}"


def spool_directory(configuration: Configuration) -> Path:
    """Where the spool is."""
    if configuration.spool_directory:
        return Path(configuration.spool_directory)
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"dask-observatory-spool-{user}"
