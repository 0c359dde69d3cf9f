"""IP addresses that the server requests only with care, or never (SSRF)."""

from __future__ import annotations

import ipaddress

METADATA = frozenset(
    map(
        ipaddress.ip_address,
        (
            "169.254.169.254",  # most clouds
            "169.254.170.2",  # Amazon ECS
            "169.254.170.23",  # Amazon EKS
            "fd00:ec2::254",
            "fd00:ec2::23",
            "100.100.100.200",  # Alibaba Cloud
            "168.63.129.16",  # Azure
        ),
    )
)
"""Addresses of clouds' metadata services, which give credentials to any process inside."""

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_ip(text: str) -> IPAddress:
    """Parses an IP address, without its zone. Raises ValueError for a host name."""
    return ipaddress.ip_address(text.strip("[]").split("%")[0])


def is_reserved(address: IPAddress) -> bool:
    """Whether an address is loopback, link-local, multicast or unspecified."""
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_link_local or mapped.is_multicast or mapped.is_unspecified)


def is_metadata(address: IPAddress) -> bool:
    """Whether an address is that of a cloud's metadata service, which must never be requested."""
    return (getattr(address, "ipv4_mapped", None) or address) in METADATA
