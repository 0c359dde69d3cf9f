"""Log lines as text and as JSON, of our own processes, uvicorn and Celery."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from observatory.base.environment import choice
from observatory.config.logging.format import Json, Line

ALL_PROCESSES = """
import logging, warnings
import uvicorn, django
uvicorn.Config("observatory.config.asgi:application", access_log=False)  # sets its own handlers
django.setup()
from observatory.config.celery import app
app.log.setup("INFO", redirect_stdouts=True)
logging.getLogger("observatory.test").info("ours")
logging.getLogger("uvicorn.error").info("uvicorn's")
logging.getLogger("celery.worker").info("Celery's")
logging.getLogger("celery.app.trace").info("a line for each task")
assert not logging.getLogger("uvicorn.access").hasHandlers()
warnings.warn("Python's")
raise ValueError("/r/SECRET-token\\nis two lines")
"""


def lines_of(**environment: str) -> list[str]:
    """What the processes' loggers write to the standard error."""
    done = subprocess.run(
        [sys.executable, "-c", ALL_PROCESSES],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "observatory.config.settings", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_every_line_of_every_process_is_a_json_object() -> None:
    entries: list[dict[str, Any]] = [json.loads(line) for line in lines_of(OBSERVATORY_LOG_FORMAT="json")]
    assert [(entry["logger"], entry["level"]) for entry in entries] == [
        ("observatory.test", "INFO"),
        ("uvicorn.error", "INFO"),
        ("celery.worker", "INFO"),
        ("py.warnings", "WARNING"),
        ("observatory.config.logging.setup", "CRITICAL"),
    ]
    assert "Python's" in entries[3]["message"]
    assert entries[4]["exception"].endswith("ValueError: /r/…\nis two lines")
    assert len({entry["process"] for entry in entries}) == 1


def test_a_level_is_that_of_all_loggers() -> None:
    lines = lines_of(OBSERVATORY_LOG_LEVEL="WARNING")
    assert lines[0].endswith("UserWarning: Python's")
    assert not any(line.endswith(("ours", "uvicorn's", "Celery's")) for line in lines)


def record(message: str, **attributes: Any) -> logging.LogRecord:
    made = logging.LogRecord("observatory.test", logging.ERROR, "", 0, message, (), None)
    made.__dict__.update({"created": 1_700_000_000.25, **attributes})
    return made


def test_a_json_line_has_the_time_in_utc_and_nothing_that_a_library_attached() -> None:
    entry = json.loads(
        Json().format(record("line one\nline two \ud800", request="/r/SECRET-token", process=7))
    )
    assert entry == {
        "time": "2023-11-14T22:13:20.250+00:00",
        "level": "ERROR",
        "logger": "observatory.test",
        "message": "line one\nline two \ud800",
        "process": 7,
    }


@pytest.mark.parametrize("formatter", [Line("%(message)s"), Json()], ids=["line", "json"])
@pytest.mark.parametrize(
    "message",
    [
        "/sign-in/once/MQ/SECRET-token/",
        "/dask/worker-pages/SECRET-token/status/ws",
        "token obs_SECRETsecretSECRET",
        "obp_SECRETsecretSECRET",
    ],
)
def test_tokens_are_left_out_of_lines(formatter: logging.Formatter, message: str) -> None:
    assert "SECRET" not in formatter.format(record(message))


def test_an_unknown_choice_is_refused_with_what_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_LOG_FORMAT", "xml")
    with pytest.raises(
        ImproperlyConfigured, match=r"OBSERVATORY_LOG_FORMAT is 'xml': it must be one of line, json"
    ):
        choice("OBSERVATORY_LOG_FORMAT", "line", ("line", "json"))
