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
            "fd20:ce::254",  # Google Cloud
            "fd00:c1::a9fe:a9fe",  # Oracle Cloud
            "192.0.0.192",  # Oracle Cloud Classic
            "fd00:a9fe:a9fe::1",  # Akamai
            "fe80::a9fe:a9fe",  # OpenStack
            "169.254.42.42",  # Scaleway
            "fd00:42::42",
            "169.254.0.23",  # Tencent Cloud
        ),
    )
)
"""Addresses of clouds' metadata services, which give credentials to any process inside."""

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

TRANSLATED = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "::/96",  # IPv4-compatible
            "64:ff9b::/96",  # NAT64 (RFC 6052)
            "64:ff9b:1::/48",  # NAT64 of a network of one's own (RFC 8215)
        ),
    )
)
"""Networks whose last 32 bits are an IPv4 address, to which a gateway may pass the request on."""


def parse_ip(text: str) -> IPAddress:
    """Parses an IP address, without its zone. Raises ValueError for a host name."""
    return ipaddress.ip_address(text.strip("[]").split("%")[0])


def is_reserved(address: IPAddress) -> bool:
    """Whether an address is, or contains, a loopback, link-local, multicast or unspecified one."""
    return any(
        each.is_loopback or each.is_link_local or each.is_multicast or each.is_unspecified
        for each in _reached(address)
    )


def is_metadata(address: IPAddress) -> bool:
    """Whether an address is that of a cloud's metadata service, which must never be requested."""
    return not METADATA.isdisjoint(_reached(address))


def _reached(address: IPAddress) -> list[IPAddress]:
    """The address, and the IPv4 addresses inside it that a request can reach by translation or a tunnel."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    plain = ipaddress.IPv6Address(int(address))  # without a zone, which would differ
    if plain.ipv4_mapped is not None:
        return [plain.ipv4_mapped]
    found: list[IPAddress] = [plain]
    if plain.sixtofour is not None:
        found.append(plain.sixtofour)
    if plain.teredo is not None:
        found += plain.teredo
    if any(plain in network for network in TRANSLATED):
        found.append(ipaddress.IPv4Address(int(plain) & 0xFFFF_FFFF))
    return found
