from __future__ import annotations

import pytest

from observatory.agent.scheduler.errors import split


@pytest.mark.parametrize(
    ("text", "type", "message"),
    [
        ("ValueError('no')", "ValueError", "no"),
        ("botocore.exceptions.ClientError('no (404)')", "botocore.exceptions.ClientError", "no (404)"),
        ("Result[int]('no')", "Result[int]", "no"),
        ("out-of-stock('no')", "out-of-stock", "no"),
        ("Kein Gerät frei('no')", "Kein Gerät frei", "no"),
        ("<HTTPError 404: 'Not Found'>", "HTTPError", "<HTTPError 404: 'Not Found'>"),
        ("'no' (really)", "", "'no' (really)"),
        ("it failed", "", "it failed"),
        ("", "", ""),
    ],
)
def test_the_repr_of_an_exception_is_its_type_and_message(text: str, type: str, message: str) -> None:
    assert split(text) == (type, message)
