"""The environment variables that Observatory reads, and those that are misspelt."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

PREFIX = "OBSERVATORY_"
KNOWN = frozenset(
    PREFIX + name
    for name in (
        "ACCESS_TOKEN",
        "ALLOWED_HOSTS",
        "ARCHIVE",
        "ARCHIVE_REMOVES_ROWS_AFTER_DAYS",
        "AUDIT_RETENTION_DAYS",
        "DATA_DIR",
        "DEBUG",
        "DISCOVERY_DIR",
        "FRAME_ANCESTORS",
        "GROUPS_HEADER",
        "IMPORT_LIMIT_MIB",
        "LABELS",
        "LINK_REQUESTS_PER_MINUTE",
        "LOCAL_CHANNELS",
        "LOG_FORMAT",
        "LOG_LEVEL",
        "METRICS_TOKEN",
        "NAME",
        "OIDC_CLIENT_ID",
        "OIDC_CLIENT_SECRET",
        "OIDC_GROUPS_CLAIM",
        "OIDC_ISSUER",
        "OIDC_NAME",
        "OIDC_SCOPES",
        "PASSWORD_SIGN_IN",
        "PORT",
        "PROJECT_EXPORTS_PER_HOUR",
        "PROJECT_INGEST_MIB_PER_MINUTE",
        "PROJECT_LINK_REQUESTS_PER_MINUTE",
        "PROJECT_QUOTA_GIB",
        "PUBLIC_URL",
        "RELEASE",
        "REQUEST_TIMEOUT_SECONDS",
        "SAML_EMAIL_ATTRIBUTE",
        "SAML_ENTITY_ID",
        "SAML_GROUPS_ATTRIBUTE",
        "SAML_ID_ATTRIBUTE",
        "SAML_ISSUER",
        "SAML_METADATA",
        "SAML_NAME",
        "SAML_TRUST_EMAIL",
        "SAML_USER_NAME_ATTRIBUTE",
        "SCAN_SCHEDULER",
        "SCIM_TOKEN",
        "SECRET_KEY",
        "SENTRY_DSN",
        "SENTRY_ENVIRONMENT",
        "SIGN_IN_HEADER",
        "SINGLE_SIGN_ON_DAYS",
        "SINGLE_SIGN_ON_HOURS",
        "STATIC_ROOT",
        "TARGET_PASSWORD",
        "TARGET_TOKEN",
        "TOKEN",
        "TRACE_URL",
        "TRUSTED_PROXIES",
        "URL",
        "WORKER_PAGES",
    )
)
"""those of docs/settings.md, of agents (docs/agent.md) and of docker-compose.yml"""
VAR_PREFIX = "OBSERVATORY_VAR_"
"""of the variables with secrets that files of configuration refer to"""
OF_OTHERS = re.compile(
    r"OBSERVATORY_(TEST\w*"  # the tests'
    r"|VAR_\w+"  # those of VAR_PREFIX
    r"|_\w+"  # Dask reads OBSERVATORY__… by its own rules
    r"|(\w+_)?SERVICE_(HOST|PORT)(_\w+)?|(\w+_)?PORT(_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?)"
)
"""the last line: Kubernetes tells pods of a service named `observatory`, or `observatory-…`"""


def unknown_variables(names: Iterable[str]) -> dict[str, str]:
    """The variables that begin as ours do and that nothing reads, with the nearest name, or ""."""
    ours = sorted(name for name in names if name.startswith(PREFIX))
    return {name: _nearest(name) for name in ours if name not in KNOWN and not OF_OTHERS.fullmatch(name)}


def _nearest(name: str) -> str:
    endings = [known.removeprefix(PREFIX) for known in KNOWN]
    found = get_close_matches(name.removeprefix(PREFIX), endings, 1, 0.7)
    return PREFIX + found[0] if found else ""
