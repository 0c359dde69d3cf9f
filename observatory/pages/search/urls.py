from __future__ import annotations

from django.urls import path

from observatory.pages.search import views

urlpatterns = [
    path("search/", views.search_page, name="search"),
]
