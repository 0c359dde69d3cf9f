from __future__ import annotations

from django.urls import path

from observatory.pages.comparison import views, worker_views

urlpatterns = [
    path("runs/compare/", views.compare_page, name="runs-compare"),
    path("runs/history/", views.history_page, name="run-history"),
    path("runs/<int:run_id>/compare-workers/", worker_views.compare_workers_page, name="run-compare-workers"),
]
