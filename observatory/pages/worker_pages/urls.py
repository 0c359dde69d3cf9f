from __future__ import annotations

from django.urls import path

from observatory.pages.worker_pages import views

urlpatterns = [
    path("clusters/<int:cluster_id>/workers/<int:worker_id>/pages/", views.worker_pages, name="worker-pages"),
]
