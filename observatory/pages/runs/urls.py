from __future__ import annotations

from django.urls import path

from observatory.pages.runs import change_views, mark_views, run_views, views

urlpatterns = [
    path("clusters/<int:cluster_id>/runs/", views.cluster_runs, name="cluster-runs"),
    path("runs/", views.run_list, name="runs"),
    path("runs/change/", change_views.change, name="runs-change"),
    path("runs/delete/", change_views.delete, name="runs-delete"),
    path("runs/filters/", views.save_filter, name="filter-save"),
    path("runs/filters/<int:filter_id>/remove/", views.remove_filter, name="filter-remove"),
    path("runs/finding-marks/", mark_views.mark_list, name="finding-marks"),
    path("runs/finding-marks/<int:mark_id>/remove/", mark_views.remove_mark, name="finding-mark-remove"),
    path("runs/code/<uuid:code_id>/", run_views.run_of_code, name="run-of-code"),
    path("runs/<int:run_id>/", run_views.run_page, name="run"),
    path("runs/<int:run_id>/settings/", change_views.settings, name="run-settings"),
    path("runs/<int:run_id>/links/", run_views.run_links, name="run-links"),
    path("runs/<int:run_id>/links/<int:link_id>/revoke/", run_views.revoke_link, name="link-revoke"),
]
