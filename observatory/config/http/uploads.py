"""Large uploads: signed-in people may send them to the pages that import and attach files."""

from __future__ import annotations

import re
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.core.exceptions import SuspiciousOperation
from django.db import Error as DatabaseError

from observatory.config.http.body_limit import Upload

PATHS = re.compile(r"/import/|/runs/[0-9]{1,10}/attachments/")
FORM = 1 << 16
"""bytes of the form besides its file"""


def imports() -> Upload:
    return Upload(PATHS, settings.IMPORT_LIMIT + FORM, _is_signed_in)


async def _is_signed_in(scope: dict[str, Any]) -> bool:
    """Whether the request has the cookie of a session. The page checks permissions."""
    try:
        cookies = SimpleCookie(dict(scope["headers"]).get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return False
    cookie = cookies.get(settings.SESSION_COOKIE_NAME)
    return cookie is not None and await database_sync_to_async(_is_session)(cookie.value)


def _is_session(session_key: str) -> bool:
    store = import_module(settings.SESSION_ENGINE).SessionStore
    try:
        return SESSION_KEY in store(session_key)
    except (DatabaseError, SuspiciousOperation):
        return False
