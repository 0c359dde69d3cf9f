from __future__ import annotations

from django.urls import path

from observatory.pages.logs import views

urlpatterns = [
    path("clusters/<int:cluster_id>/logs/", views.log_list, name="cluster-logs"),
]
