"""Compresses the answers of the API: those of a thousand workers are megabytes of JSON."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class JsonCompressionMiddleware(GZipMiddleware):
    """Pages are small, and tiles, static files and exports are compressed where they are made."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.get("Content-Type", "").startswith("application/json"):
            return response
        return super().process_response(request, response)
