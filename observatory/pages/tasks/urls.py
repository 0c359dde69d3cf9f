from __future__ import annotations

from django.urls import path

from observatory.pages.tasks import views

urlpatterns = [
    path("clusters/<int:cluster_id>/tasks/", views.task_page, name="cluster-tasks"),
]
