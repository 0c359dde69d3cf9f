from __future__ import annotations

from django.urls import path

from observatory.pages.deletion import views

urlpatterns = [
    path("delete/<str:kind>/<str:reference>/", views.confirm, name="delete"),
    path("deletions/<int:deletion_id>/", views.deletion_page, name="deletion"),
]
