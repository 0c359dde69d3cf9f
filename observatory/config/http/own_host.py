"""Whether a request was sent to this site."""

from __future__ import annotations

from django.conf import settings
from django.http.request import split_domain_port, validate_host


def is_own_host(host: str) -> bool:
    """Whether it is this site, so that no other one's name can lead a browser here (DNS rebinding)."""
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
