from __future__ import annotations

from django.urls import path

from observatory.pages.errors import kind_views, views

urlpatterns = [
    path("errors/", kind_views.error_kind_list, name="errors"),
    path("clusters/<int:cluster_id>/errors/", views.error_list, name="cluster-errors"),
    path("clusters/<int:cluster_id>/errors/<uuid:error_id>/", views.error_page, name="cluster-error"),
]
