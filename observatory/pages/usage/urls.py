from __future__ import annotations

from django.urls import path

from observatory.pages.usage import views

urlpatterns = [path("usage/", views.usage_page, name="usage")]
