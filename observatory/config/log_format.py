"""The format of log lines: without the tokens in the paths of links."""

from __future__ import annotations

import logging
import re

SECRET = re.compile(
    r"((?:/|%2F)(?:r|sign-in(?:/|%2F)once(?:/|%2F)[\w=-]+)(?:/|%2F))[\w.~-]{8,}", re.IGNORECASE
)
"""/r/TOKEN and /sign-in/once/NUMBER/TOKEN/, also quoted in a query"""


class Line(logging.Formatter):
    """One line, and the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        return SECRET.sub(r"\1…", super().format(record))
