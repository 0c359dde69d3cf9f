"""URLs of health, readiness and metrics."""

from __future__ import annotations

from django.urls import path

from observatory.runtime.health import views

urlpatterns = [
    path("healthz", views.healthz),
    path("readyz", views.readyz),
    path("metrics", views.metrics),
]
