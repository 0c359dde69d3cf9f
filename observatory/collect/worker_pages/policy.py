"""What a worker's page may do in a browser: draw itself, and reach the same worker. Nothing of Observatory.

A worker runs its users' code, so its pages are foreign scripts at our address. The policy puts each into a
sandbox with an origin of its own: there are no cookies and no storage, answers of other addresses can't be
read, and a frame can't navigate the page around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import host_validation_re, split_domain_port, validate_host

from observatory.collect.worker_pages.paths import START

SANDBOX = "allow-scripts"
"""of the frame, and of the answers, in case one is opened without the frame"""

Headers = Sequence[tuple[bytes, bytes]]


def is_own_host(host: str) -> bool:
    """Whether a request's Host is one of OBSERVATORY_ALLOWED_HOSTS."""
    domain, _ = split_domain_port(host)
    allowed = settings.ALLOWED_HOSTS or ["localhost"]
    return bool(host_validation_re.match(host.lower()) and domain and validate_host(domain, allowed))


def is_of_the_frame(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a browser sends a request from where it should: the frame itself, or a page in its sandbox.

    Otherwise a page of Observatory could be made to load a worker's script as its own: it is at the same
    host. Browsers send these headers by https:// and to this machine only.
    """
    site = headers.get(b"sec-fetch-site")
    if site is None:
        return True
    if headers.get(b"sec-fetch-mode") == b"navigate":
        return headers.get(b"sec-fetch-dest") == b"iframe"
    return site == b"cross-site"


def is_of_the_sandbox(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a socket is opened by a page without an origin."""
    return headers.get(b"origin") == b"null"


def frame_sources(host: str) -> list[str]:
    """What a page of Observatory may show in a frame: worker pages, at the host of the request."""
    path = f"{settings.SUB_PATH}{START}"
    return [f"{scheme}://{name}{path}" for name in _hosts(host) for scheme in ("http", "https")]


def answer_headers(host: str, ticket: str, content_type: str) -> Headers:
    """The headers of a worker's answer: ours alone."""
    headers = {
        "content-type": content_type,
        "content-security-policy": _policy(host, ticket),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "private, no-store",
        # for fonts and modules, which browsers load with CORS
        "access-control-allow-origin": "null",
    }
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def _policy(host: str, ticket: str) -> str:
    path = f"{settings.SUB_PATH}{START}{ticket}/"
    own = " ".join(
        f"{scheme}://{name}{path}" for name in _hosts(host) for scheme in ("http", "https", "ws", "wss")
    )
    directives = (
        f"sandbox {SANDBOX}",
        "default-src 'none'",
        f"script-src {own} 'unsafe-inline' 'unsafe-eval'",
        f"style-src {own} 'unsafe-inline'",
        f"img-src {own} data: blob:",
        f"font-src {own} data:",
        f"connect-src {own}",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
    )
    return "; ".join(directives)


def _hosts(host: str) -> list[str]:
    """The host of a request, which a proxy may have changed, and the one that people open."""
    public = urlsplit(settings.PUBLIC_URL).netloc
    return list(dict.fromkeys((host, public))) if public else [host]
