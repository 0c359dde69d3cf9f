"""Reads and checks the environment variables of the settings."""

from __future__ import annotations

import hashlib
import ipaddress
import math
import os
import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

CONNECTION_IDLE = 60
"""seconds after which pools close connections that nobody needed: each takes PostgreSQL some 3 MB"""
CONNECTION_LIFETIME = 600
"""seconds after which pools replace a connection: libpq and PostgreSQL keep what its largest query needed"""
LONGEST_RUN_DIR = 107 - len("/.s.PGSQL.5432.lock")
"""bytes; the path of a Unix socket has at most 107"""
PLAIN_PATH = re.compile(r"[\w/.+-]+", re.ASCII)
"""paths that need no escaping in a URL and as libpq's host"""
PUBLIC_URL = re.compile(r"https?://[^\s/?#@]+(/[\w~-][\w.~-]*)*", re.ASCII)
ORIGIN = re.compile(
    r"https?://(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?|https?://\[[0-9a-f:]+\](:\d{1,5})?", re.I
)
"""of a site, with a wildcard for its subdomains at most"""
HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,99}")
ARCHIVE_SCHEMES = ("file:///", "s3://", "gs://", "abfs://", "abfss://")
"""of object stores that pyarrow reaches, and of folders"""
SCHEDULER_ADDRESS = re.compile(r"(tcp|tls|ws|wss)://([\w.-]+|\[[0-9a-f:.]+\]):\d{1,5}", re.I | re.ASCII)
SHORTEST_KEY = 32
FEWEST_CHARACTERS_OF_KEY = 8
SYSTEM_DATA_DIR = Path("/var/lib/dask-observatory")
PACKAGE_DIR = Path(__file__).resolve().parent.parent
CHECKOUT = PACKAGE_DIR.parent if (PACKAGE_DIR.parent / "manage.py").exists() else None
"""the folder of manage.py and frontend/; None where the package is installed from a wheel"""
SHORTEST_TOKEN = 20
"""characters of a token that people make up"""


def text(name: str, default: str) -> str:
    return os.environ.get(name, "").strip() or default


def words(name: str, default: str) -> list[str]:
    """The words of a variable, separated by spaces or commas."""
    return text(name, default).replace(",", " ").split()


def boolean(name: str, default: bool) -> bool:
    value = text(name, str(default)).lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} is {value!r}: it must be 1 or 0")


def number(name: str, default: int) -> int:
    """A positive whole number."""
    value = text(name, str(default))
    if not (value.isascii() and value.isdecimal() and 0 < int(value) < 2**31):
        raise ImproperlyConfigured(f"{name} is {value!r}: it must be a positive whole number")
    return int(value)


def choice(name: str, default: str, values: Sequence[str]) -> str:
    """One of `values`."""
    value = text(name, default)
    if value not in values:
        raise ImproperlyConfigured(f"{name} is {value!r}: it must be one of {', '.join(values)}")
    return value


def networks(name: str) -> list[str]:
    """IP addresses and networks (CIDR), separated by spaces or commas."""
    found = words(name, "")
    for network in found:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} takes IP addresses and networks: {error}") from None
    return found


def origins(name: str) -> list[str]:
    """Origins, as https://host or https://host:port, separated by spaces or commas."""
    found = words(name, "")
    for origin in found:
        if not ORIGIN.fullmatch(origin):
            raise ImproperlyConfigured(
                f"{name} has {origin!r}: it must be http:// or https:// with a host, or *. and a domain, "
                "and with no path"
            )
    return found


def public_url() -> str:
    """OBSERVATORY_PUBLIC_URL without a slash at its end; "" if it is not set."""
    url = text("OBSERVATORY_PUBLIC_URL", "").rstrip("/")
    if url and not PUBLIC_URL.fullmatch(url):
        raise ImproperlyConfigured(
            f"OBSERVATORY_PUBLIC_URL is {url!r}: it must be http:// or https:// with a host, and may have "
            "a path of letters, digits and - . _ ~"
        )
    return url


def trace_url() -> str:
    """OBSERVATORY_TRACE_URL: the address of a trace, with {trace} for its id; "" without one."""
    url = text("OBSERVATORY_TRACE_URL", "")
    if url and not (
        url.startswith(("http://", "https://")) and url.count("{trace}") == 1 and url.isprintable()
    ):
        raise ImproperlyConfigured(
            f"OBSERVATORY_TRACE_URL is {url!r}: it must be http:// or https:// and have {{trace}} once, "
            "where the trace's id belongs"
        )
    return url


def sign_in_header(proxies: Sequence[str]) -> str:
    """OBSERVATORY_SIGN_IN_HEADER, which only `proxies` may send; "" without one."""
    name = _header("OBSERVATORY_SIGN_IN_HEADER", text("OBSERVATORY_SIGN_IN_HEADER", ""))
    if name and not proxies:
        raise ImproperlyConfigured(
            "OBSERVATORY_SIGN_IN_HEADER needs OBSERVATORY_TRUSTED_PROXIES: everybody could send the header"
        )
    return name


def groups_header(sign_in_header: str) -> str:
    """OBSERVATORY_GROUPS_HEADER; "" without one."""
    name = _header("OBSERVATORY_GROUPS_HEADER", text("OBSERVATORY_GROUPS_HEADER", ""))
    if name and not sign_in_header:
        raise ImproperlyConfigured("OBSERVATORY_GROUPS_HEADER needs OBSERVATORY_SIGN_IN_HEADER")
    return name


def _header(variable: str, name: str) -> str:
    if name and not HEADER.fullmatch(name):
        raise ImproperlyConfigured(
            f"{variable} is {name!r}: it must be the name of a header, as X-Forwarded-User"
        )
    return name


def data_dir() -> Path:
    """OBSERVATORY_DATA_DIR, or the default: the system's, the checkout's or the user's data folder."""
    if os.geteuid() == 0:
        default = SYSTEM_DATA_DIR
    elif CHECKOUT is not None:
        default = CHECKOUT / ".observatory"
    else:
        default = Path(text("XDG_DATA_HOME", "~/.local/share")).expanduser() / "dask-observatory"
    return Path(text("OBSERVATORY_DATA_DIR", str(default))).resolve()


def archive() -> str:
    """OBSERVATORY_ARCHIVE: a folder, or the URL of one or of a place in an object store; "" without one."""
    place = text("OBSERVATORY_ARCHIVE", "")
    if not place or place.startswith(ARCHIVE_SCHEMES) or (place.startswith("/") and "://" not in place):
        return place
    raise ImproperlyConfigured(
        f"OBSERVATORY_ARCHIVE is {place.split('?')[0].split('@')[-1]!r}: it must be a folder that begins "
        f"with /, or a URL that begins with {', '.join(ARCHIVE_SCHEMES)}"
    )


def archive_removes_rows_after() -> timedelta | None:
    """OBSERVATORY_ARCHIVE_REMOVES_ROWS_AFTER_DAYS; None without one."""
    if not text("OBSERVATORY_ARCHIVE_REMOVES_ROWS_AFTER_DAYS", ""):
        return None
    return timedelta(days=number("OBSERVATORY_ARCHIVE_REMOVES_ROWS_AFTER_DAYS", 1))


def scan_scheduler() -> str:
    """OBSERVATORY_SCAN_SCHEDULER: the address of a Dask scheduler; "" without one."""
    address = text("OBSERVATORY_SCAN_SCHEDULER", "")
    if not address or SCHEDULER_ADDRESS.fullmatch(address):
        return address
    raise ImproperlyConfigured(
        f"OBSERVATORY_SCAN_SCHEDULER is {address!r}: it must be the address of a Dask scheduler, as in "
        "tcp://scans.example.org:8786 or tls://scans.example.org:8786"
    )


def project_quota_gib() -> float | None:
    """OBSERVATORY_PROJECT_QUOTA_GIB; None without one."""
    return _limit("OBSERVATORY_PROJECT_QUOTA_GIB", text("OBSERVATORY_PROJECT_QUOTA_GIB", ""))


def project_ingest_rate() -> float | None:
    """MiB a minute; None: no limit."""
    name = "OBSERVATORY_PROJECT_INGEST_MIB_PER_MINUTE"
    return _limit(name, text("OBSERVATORY_PROJECT_INGEST_MIB_PER_MINUTE", ""))


def project_link_rate() -> int | None:
    """Requests a minute; None: no limit."""
    is_set = text("OBSERVATORY_PROJECT_LINK_REQUESTS_PER_MINUTE", "")
    return number("OBSERVATORY_PROJECT_LINK_REQUESTS_PER_MINUTE", 1) if is_set else None


def project_export_rate() -> int | None:
    """Exports an hour; None: no limit."""
    is_set = text("OBSERVATORY_PROJECT_EXPORTS_PER_HOUR", "")
    return number("OBSERVATORY_PROJECT_EXPORTS_PER_HOUR", 1) if is_set else None


def _limit(name: str, written: str) -> float | None:
    if not written:
        return None
    try:
        limit = float(written)
    except ValueError:
        limit = math.nan
    if not 0.001 <= limit <= 1_000_000:
        raise ImproperlyConfigured(f"{name} is {written!r}: it must be a number from 0.001 to 1000000")
    return limit


def scim_token() -> str:
    """OBSERVATORY_SCIM_TOKEN; "" without one."""
    token = text("OBSERVATORY_SCIM_TOKEN", "")
    if token and len(token) < SHORTEST_TOKEN:
        raise ImproperlyConfigured(
            f"OBSERVATORY_SCIM_TOKEN has {len(token)} characters: at least {SHORTEST_TOKEN}, as of "
            "`openssl rand -hex 24`"
        )
    return token


def discovery_dir() -> Path | None:
    """OBSERVATORY_DISCOVERY_DIR; None without one."""
    folder = Path(text("OBSERVATORY_DISCOVERY_DIR", ""))
    if folder == Path():
        return None
    if not folder.is_absolute():
        raise ImproperlyConfigured(f"OBSERVATORY_DISCOVERY_DIR is {str(folder)!r}: it must begin with /")
    return folder


def frontend_dir() -> Path:
    """The folder of the scripts and styles: in the installed package, or in the checkout."""
    return (CHECKOUT or PACKAGE_DIR) / "frontend"


def use_data_dir(arguments: Sequence[str]) -> None:
    """Copy --data-dir of a command line into the environment, before the settings are read."""
    for position, argument in enumerate(arguments):
        if argument == "--data-dir" and position + 1 < len(arguments):
            os.environ["OBSERVATORY_DATA_DIR"] = os.path.abspath(arguments[position + 1])
        elif argument.startswith("--data-dir="):
            os.environ["OBSERVATORY_DATA_DIR"] = os.path.abspath(argument.partition("=")[2])


def run_dir(data_dir: Path) -> Path:
    """The folder of the services' sockets: in the data folder, or in /tmp if that path is unsuitable."""
    folder = data_dir / "run"
    if len(bytes(folder)) <= LONGEST_RUN_DIR and PLAIN_PATH.fullmatch(str(folder)):
        return folder
    digest = hashlib.sha256(bytes(data_dir)).hexdigest()[:16]
    return Path("/tmp") / f"observatory-{digest}"


def secret_key(data_dir: Path) -> str | None:
    """OBSERVATORY_SECRET_KEY, or the data folder's; None without one. Who knows it can sign in as anybody."""
    given = os.environ.get("OBSERVATORY_SECRET_KEY")
    if given:
        if len(given) < SHORTEST_KEY or len(set(given)) < FEWEST_CHARACTERS_OF_KEY:
            raise ImproperlyConfigured(
                f"OBSERVATORY_SECRET_KEY can be guessed: it must have at least {SHORTEST_KEY} characters, "
                f"{FEWEST_CHARACTERS_OF_KEY} of them different. `openssl rand -hex 32` makes one"
            )
        return given
    try:
        return (data_dir / "secret_key").read_text().strip() or None
    except OSError:
        return None


def database(data_dir: Path) -> dict[str, Any]:
    """Django's settings for DATABASE_URL, or for the embedded PostgreSQL."""
    parsed = _postgresql("DATABASE_URL", text("DATABASE_URL", "")) or {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "observatory",
        "USER": "observatory",
        "HOST": str(run_dir(data_dir)),
    }
    pool = {
        "min_size": 0,
        "max_size": 12,
        "timeout": 10,
        "max_lifetime": CONNECTION_LIFETIME,
        "max_idle": CONNECTION_IDLE,
    }
    parsed["OPTIONS"] = {**parsed.get("OPTIONS", {}), "pool": pool}
    return parsed


def session_database() -> dict[str, Any] | None:
    """As `database`, for DATABASE_SESSION_URL; None without one."""
    parsed = _postgresql("DATABASE_SESSION_URL", text("DATABASE_SESSION_URL", ""))
    if parsed and not text("DATABASE_URL", ""):
        raise ImproperlyConfigured("DATABASE_SESSION_URL needs DATABASE_URL, which leads to the pooler")
    return parsed


def _postgresql(variable: str, url: str) -> dict[str, Any] | None:
    """Django's settings for the URL that a variable has; None without one."""
    if not url:
        return None
    try:
        parsed: dict[str, Any] = dict(dj_database_url.parse(url))
    except (ValueError, KeyError) as error:
        raise ImproperlyConfigured(f"{variable} is not valid: {error}") from None
    if parsed.get("ENGINE") != "django.db.backends.postgresql":
        raise ImproperlyConfigured(f"{variable} must be that of a PostgreSQL: postgresql://user@host/name")
    return parsed
