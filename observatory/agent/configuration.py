"""The agent's settings: from arguments, else the environment, else Dask's configuration, else defaults."""

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

from observatory.agent.worker.retirement import digest_of

ENVIRONMENT = {"url": "OBSERVATORY_URL", "token": "OBSERVATORY_TOKEN", "name": "OBSERVATORY_NAME"}
TOKEN = re.compile(r"[ -~]+")
"""Characters that are allowed in an HTTP header."""
RETIRE_TOKEN = re.compile(r"[!-~]{16,}")
LIMITS: dict[str, tuple[float, float]] = {
    "memory_limit": (0, 2**50),
    "spool_limit": (0, 2**50),
    "flush_interval": (0.05, 3600),
    "close_timeout": (0, 3600),
    "key_edges_limit": (0, 10**9),
    "sample_interval": (0.05, 3600),
}


class ConfigurationError(ValueError):
    """A setting is missing or wrong; the message names it."""


@dataclass(frozen=True)
class Configuration:
    url: str = ""
    """Address of Observatory: https://observatory.example.org"""
    token: str = field(default="", repr=False)
    """Ingest token of the project that the cluster belongs to."""
    name: str = ""
    """Name of the cluster; empty: the scheduler's id."""
    memory_limit: int = 64 * 2**20
    """Most bytes of batches in memory; batches over it go to the spool."""
    spool_limit: int = 2**30
    """Most bytes in the spool; over it the least important, oldest records are dropped and counted."""
    spool_directory: str = ""
    """Folder of the spool; empty: a private folder in the system's temporary folder."""
    flush_interval: float = 1.0
    """Seconds between two batches."""
    close_timeout: float = 10.0
    """Most seconds that the closing scheduler waits until the last batches are stored."""
    log_level: str = "INFO"
    """Lowest level that is recorded from Dask's own loggers."""
    loggers: Mapping[str, str] = field(default_factory=dict)
    """More loggers to record, with their lowest level: {"my_package": "DEBUG"}."""
    key_edges_limit: int = 100_000
    """Most tasks, and most edges, of one graph that are recorded one by one; larger graphs by group only."""
    sample_interval: float = 1.0
    """Seconds between two samples of the scheduler and its workers."""
    verify: str = "true"
    """How to check the server's certificate: true, false, or a file of certificates to trust."""
    error_arguments: bool = False
    """Whether errors of tasks are recorded with their arguments, shortened. Arguments are data."""
    native_profile: bool = False
    """Whether py-spy records the native stacks of tasks, beside each worker."""
    ask_batch_system: bool = True
    """Whether a worker of each batch job asks once, by squeue, qstat or bjobs, how long the job waited."""
    retire_token: str = field(default="", repr=False)
    """Token that retires a worker by a request to its HTTP port; empty: workers have no such route."""

    @property
    def log_levels(self) -> dict[str, int]:
        """Lowest level by logger."""
        levels = {"distributed": self.log_level, **self.loggers}
        return {name: _level(name, level) for name, level in levels.items()}

    def for_workers(self) -> dict[str, Any]:
        """The settings that workers and nannies need; none of them is secret."""
        return {
            "log_level": self.log_level,
            "loggers": dict(self.loggers),
            "sample_interval": self.sample_interval,
            "profile": True,
            "error_arguments": self.error_arguments,
            "native_profile": self.native_profile,
            "ask_batch_system": self.ask_batch_system,
            "retire_digest": digest_of(self.retire_token) if self.retire_token else "",
        }


def local_settings(**given: Any) -> dict[str, Any]:
    """The settings given as arguments or set in this process, which a client sends to the scheduler."""
    _check_names(given)
    found = {name: value for name in _names() if (value := _lookup(name, {})) is not None}
    return {**found, **given}


def read_configuration(**given: Any) -> Configuration:
    """Reads and checks all settings. Raises ConfigurationError."""
    _check_names(given)
    values = {}
    for name, default in asdict(Configuration()).items():
        value = _lookup(name, given)
        if value is not None:
            values[name] = _read(name, value, default)
    if "url" in values:
        values["url"] = values["url"].rstrip("/")
    configuration = Configuration(**values)
    _check(configuration)
    return configuration


def _names() -> list[str]:
    return [found.name for found in fields(Configuration)]


def _check_names(given: Mapping[str, Any]) -> None:
    unknown = sorted(given.keys() - set(_names()))
    if unknown:
        raise ConfigurationError(f"unknown setting {unknown[0]!r}; the settings are {', '.join(_names())}")


def _lookup(name: str, given: Mapping[str, Any]) -> Any:
    """The value of a setting, None when it is not set."""
    if given.get(name) is not None:
        return given[name]
    if os.environ.get(ENVIRONMENT.get(name, "")):
        return os.environ[ENVIRONMENT[name]]
    return dask.config.get(_setting(name), None)


def _read(name: str, value: Any, default: Any) -> Any:
    parse: Callable[[Any], Any]
    if isinstance(default, bool):
        parse = _flag
    elif name == "key_edges_limit":
        parse = int
    elif name in ("memory_limit", "spool_limit"):
        parse = parse_bytes
    elif isinstance(default, bool):
        parse = _boolean
    elif isinstance(default, float):
        parse = _seconds
    elif isinstance(default, Mapping):
        parse = dict
    else:
        parse = _text
    try:
        return parse(value)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise ConfigurationError(f"{_setting(name)}: {value!r} is not a valid value") from None


def _flag(value: Any) -> bool:
    return {"true": True, "false": False}[str(value).strip().lower()]


def _text(value: Any) -> str:
    """Strips white space: a token or address read from a file ends with a newline."""
    return str(value).strip()


def _boolean(value: Any) -> bool:
    return {"true": True, "false": False}[str(value).strip().lower()]


def _seconds(value: Any) -> float:
    return float(parse_timedelta(value, default="s"))


def _check(configuration: Configuration) -> None:
    _check_url(configuration.url)
    if not configuration.token:
        raise ConfigurationError("observatory.token is not set: create an ingest token on the project's page")
    if not TOKEN.fullmatch(configuration.token):
        raise ConfigurationError("observatory.token contains characters that are not allowed in a token")
    for name, (least, most) in LIMITS.items():
        if not least <= getattr(configuration, name) <= most:
            raise ConfigurationError(f"{_setting(name)} must be between {least:g} and {most:g}")
    if configuration.verify.lower() not in ("true", "false") and not Path(configuration.verify).exists():
        raise ConfigurationError(
            f"observatory.verify: {configuration.verify!r} is neither true, nor false, nor an existing file"
        )
    if configuration.retire_token and not RETIRE_TOKEN.fullmatch(configuration.retire_token):
        raise ConfigurationError("observatory.retire-token must have at least 16 characters, and no spaces")
    configuration.log_levels  # noqa: B018 raises for an unknown level


def _check_url(url: str) -> None:
    if not url:
        raise ConfigurationError(
            "observatory.url is not set: give the address of Observatory, as in http://observatory:8000"
        )
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port or IPv6 address
        is_address = False
    if not is_address or not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigurationError(
            f"observatory.url: {url!r} is not an address that begins with http:// or https://"
        )
    if "@" in parts.netloc:
        raise ConfigurationError("observatory.url must not contain a password: use observatory.token")


def _level(logger: str, name: str) -> int:
    level = logging.getLevelName(str(name).upper())
    if not isinstance(level, int):
        setting = "observatory.log-level" if logger == "distributed" else f"observatory.loggers, {logger!r}"
        raise ConfigurationError(f"{setting}: {name!r} is not one of DEBUG, INFO, WARNING, ERROR, CRITICAL")
    return level


def _setting(name: str) -> str:
    return f"observatory.{name.replace('_', '-')}"


def spool_directory(configuration: Configuration) -> Path:
    """The folder of the spool."""
    if configuration.spool_directory:
        return Path(configuration.spool_directory)
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"dask-observatory-spool-{user}"
