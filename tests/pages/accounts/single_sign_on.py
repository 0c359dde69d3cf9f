"""What the tests of SAML and OpenID Connect share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from tests.browser.observatory import ROOT
from tests.support.web_process import database_url

GROUPS = "urn:oid:1.3.6.1.4.1.5923.1.5.1.1"
"""the attribute isMemberOf of a SAML answer"""


@contextmanager
def tables(variables: dict[str, str]) -> Iterator[None]:
    """allauth's tables, which are there only with single sign-on."""
    environment = os.environ | variables | {"DATABASE_URL": database_url()}
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    yield
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE tablename ~ '^(social)?account_'")
        for (table,) in cursor.fetchall():
            cursor.execute(f'DROP TABLE "{table}" CASCADE')
        cursor.execute("DELETE FROM django_migrations WHERE app IN ('account', 'socialaccount')")
