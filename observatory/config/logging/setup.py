"""Applies the settings of logging to a process: its log, that of Celery, and its error reports."""

from __future__ import annotations

import logging
import sys
from logging.config import dictConfig
from types import TracebackType
from typing import Any

from django.core.exceptions import ImproperlyConfigured

log = logging.getLogger(__name__)


def set_up(configuration: dict[str, Any]) -> None:
    """Apply settings.LOGGING. With JSON, warnings and the exception that ends a process are lines, too."""
    dictConfig(configuration)
    if configuration["handlers"]["console"]["formatter"] == "json":
        logging.captureWarnings(True)
        sys.excepthook = _log_last_exception


def set_up_celery(**_: Any) -> None:
    """Receives Celery's signal `setup_logging`, which keeps it from a format and levels of its own."""
    from django.conf import settings

    set_up(settings.LOGGING)


def start_error_reports(dsn: str, environment: str) -> None:
    """Report errors of this process to the Sentry of a DSN."""
    try:
        from observatory.config.logging.error_reports import start
    except ModuleNotFoundError as error:
        raise ImproperlyConfigured(
            f"OBSERVATORY_SENTRY_DSN needs {error.name}: pip install 'dask-observatory[sentry]'"
        ) from None
    try:
        start(dsn, environment)
    except ValueError as error:
        raise ImproperlyConfigured(f"OBSERVATORY_SENTRY_DSN is not valid: {error}") from None


def _log_last_exception(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)
    else:
        log.critical("the process ends with an exception", exc_info=(kind, error, traceback))
