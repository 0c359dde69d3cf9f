"""Which IP addresses are never requested, in every form that leads to them."""

from __future__ import annotations

import pytest

from observatory.clusters.addresses.ip_addresses import is_metadata, is_reserved, parse_ip

METADATA_FORMS = [
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fd00:c1::a9fe:a9fe",
    "fe80::a9fe:a9fe%eth0",
    "64:ff9b::6464:64c8",
    "2001:0:a9fe:a9fe::1",
]
LOOPBACK_FORMS = [
    "127.0.0.1",
    "::1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::1",
    "::",
    "0.0.0.0",
]
ORDINARY = ["10.0.0.1", "192.168.1.5", "fd00::1", "2001:db8::1", "64:ff9b::a00:1", "2002:a00:1::1"]


@pytest.mark.parametrize("text", METADATA_FORMS)
def test_a_metadata_service_is_known_in_every_form_of_its_address(text: str) -> None:
    assert is_metadata(parse_ip(text))


@pytest.mark.parametrize("text", LOOPBACK_FORMS)
def test_this_machine_is_known_in_every_form_of_its_address(text: str) -> None:
    assert is_reserved(parse_ip(text))


@pytest.mark.parametrize("text", ORDINARY)
def test_addresses_of_other_machines_are_neither(text: str) -> None:
    assert not is_metadata(parse_ip(text))
    assert not is_reserved(parse_ip(text))
