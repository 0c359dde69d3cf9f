from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from observatory.clusters.addresses.http_addresses import clean_target_url


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("http://scheduler:8787", "http://scheduler:8787"),
        ("  http://127.0.0.1:8787/ ", "http://127.0.0.1:8787"),
        ("http://127.0.0.1:8787/status", "http://127.0.0.1:8787"),
        ("https://hub.example/user/ann/proxy/8787/status", "https://hub.example/user/ann/proxy/8787"),
        ("http://Scheduler.Example:8787", "http://scheduler.example:8787"),
        ("http://[::1]:8787", "http://[::1]:8787"),
    ],
)
def test_an_address_is_kept_in_one_form(given: str, kept: str) -> None:
    assert clean_target_url(given) == kept


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("", "starts with http"),
        ("scheduler:8787", "starts with http"),
        ("tcp://scheduler:8786", "not tcp"),
        ("file:///etc/passwd", "Only http"),
        ("javascript://x/%0aalert(1)", "Only http"),
        ("http://:8787", "names no host"),
        ("http://a b:8787", "names no host"),
        ("http://a\nb:8787", "names no host"),
        ("http://ann:secret@scheduler:8787", "user name or password"),
        ("http://scheduler:8787/?x=1", "no ?"),
        ("http://scheduler:99999", "no address"),
        ("http://scheduler:0", "Port 0"),
        ("http://[::1:8787", "no address"),
    ],
)
def test_what_is_no_address_of_a_scheduler_is_refused_with_the_reason(given: str, reason: str) -> None:
    with pytest.raises(ValidationError) as refused:
        clean_target_url(given)
    assert reason in refused.value.messages[0]
