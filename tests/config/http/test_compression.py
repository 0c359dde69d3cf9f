"""The API's answers are compressed for whoever takes gzip, and say the same."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from django.contrib.auth.models import User
from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.test import Client, RequestFactory

from observatory.config.http.compression import JsonCompressionMiddleware

ROWS = [{"worker": f"tcp://10.0.0.1:{number}"} for number in range(1_000)]


def answered(response: HttpResponse | FileResponse, accepts: str = "gzip") -> HttpResponse | FileResponse:
    def view(request: HttpRequest) -> HttpResponse | FileResponse:
        return response

    request = RequestFactory(headers={"Accept-Encoding": accepts}).get("/api/v1/")
    return JsonCompressionMiddleware(view)(request)  # type: ignore[return-value]


def test_an_answer_in_json_takes_a_tenth_and_says_the_same() -> None:
    plain = answered(JsonResponse(ROWS, safe=False), accepts="identity")
    packed = answered(JsonResponse(ROWS, safe=False))
    assert isinstance(plain, HttpResponse)
    assert isinstance(packed, HttpResponse)
    assert "Content-Encoding" not in plain
    assert packed["Content-Encoding"] == "gzip"
    assert packed["Vary"] == "Accept-Encoding"
    assert len(packed.content) < len(plain.content) / 10
    assert json.loads(gzip.decompress(packed.content)) == json.loads(plain.content) == ROWS


def test_what_is_compressed_where_it_is_made_stays_as_it_is() -> None:
    tile = HttpResponse(gzip.compress(b"a" * 1_000), content_type="application/octet-stream")
    tile["Content-Encoding"] = "gzip"
    assert gzip.decompress(answered(tile).content) == b"a" * 1_000  # type: ignore[union-attr]
    export = FileResponse(io.BytesIO(json.dumps(ROWS).encode()), content_type="application/json")
    assert "Content-Encoding" not in answered(export)


@pytest.mark.django_db
def test_the_api_is_compressed(client: Client) -> None:
    client.force_login(User.objects.create_superuser("ada"))
    answer = client.get("/api/v1/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert answer["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.content))["openapi"]
