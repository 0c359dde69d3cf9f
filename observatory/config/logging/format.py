"""The formats of log lines: without tokens."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime

SECRETS = (
    # /r/TOKEN, /join/TOKEN/, /worker-pages/TICKET/ and /sign-in/once/NUMBER/TOKEN/, also quoted in a query
    re.compile(
        r"((?:/|%2F)(?:r|join|worker-pages|sign-in(?:/|%2F)once(?:/|%2F)[\w=-]+)(?:/|%2F))[\w.~-]{8,}",
        re.IGNORECASE,
    ),
    # of agents, of people's programs and of invitations
    re.compile(r"\b(ob[spi]_)[\w-]{16,}"),
)


def without_secrets(text: str) -> str:
    """The text with an ellipsis in the place of tokens."""
    for secret in SECRETS:
        text = secret.sub(r"\1…", text)
    return text


class Line(logging.Formatter):
    """One line, and the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


class Json(logging.Formatter):
    """One JSON object a line. `time` is in UTC, `process` the process id, `exception` the traceback.

    Further attributes of records are left out: among those of libraries are requests and arguments of tasks.
    """

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, str | int | None] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
            "process": record.process,
        }
        if record.exc_info:
            fields["exception"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(fields)
