from __future__ import annotations

from django.urls import path

from observatory.pages.errors import views

urlpatterns = [
    path("clusters/<int:cluster_id>/errors/", views.error_list, name="cluster-errors"),
    path("clusters/<int:cluster_id>/errors/<uuid:error_id>/", views.error_page, name="cluster-error"),
]
