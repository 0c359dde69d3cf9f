"""The URLs of every room."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from observatory.config.api import api

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/v1/", api.urls),
    path("", include("observatory.runtime.urls")),
    path("", include("observatory.pages.urls")),
]
