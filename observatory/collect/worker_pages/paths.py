"""Which addresses of a worker are passed on: Dask's pages, their sockets and their static files.

Nothing else of a server is requested: a host that is named as a worker's, and is none, answers little.
"""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

START = "/worker-pages/"
"""what the paths of all relayed requests begin with; a ticket follows"""
FIRST = "status"
"""the page that is shown first"""
PAGES = frozenset((FIRST, "system", "profile", "profile-server", "counters", "crossfilter"))
"""Dask's pages of a worker (distributed.dashboard.worker); the last one is that of older versions"""
FILE = re.compile(r"statics?(?:/[A-Za-z0-9_@-][A-Za-z0-9_@.-]{0,200}){1,10}")
"""a static file of Bokeh (static) or of Dask (statics); no part begins with a dot"""


def split_path(path: str) -> tuple[str, str]:
    """The ticket and the worker's path of a relayed request's path."""
    ticket, _, wanted = path.removeprefix(START).partition("/")
    return ticket, wanted


def is_page_or_file(path: str) -> bool:
    return path in PAGES or FILE.fullmatch(path) is not None


def is_socket(path: str) -> bool:
    page, _, end = path.rpartition("/")
    return end == "ws" and page in PAGES


def followed(base: str, path: str, location: str) -> str | None:
    """The worker's path that a redirect of `path` leads to; None where it leads away from its pages."""
    home = urlsplit(base)
    try:
        to = urlsplit(urljoin(f"{base}/{path}", location))
    except ValueError:
        return None
    if (to.scheme, to.netloc) != (home.scheme, home.netloc) or not to.path.startswith(f"{home.path}/"):
        return None
    wanted = to.path.removeprefix(f"{home.path}/")
    return wanted if is_page_or_file(wanted) else None
