"""The addresses of SCIM, below /scim/v2/."""

from __future__ import annotations

from django.urls import path

from observatory.clusters.scim.endpoint import scim

urlpatterns = [
    path("scim/v2/<str:kind>", scim, name="scim"),
    path("scim/v2/<str:kind>/<str:id>", scim, name="scim"),
]
