from __future__ import annotations

from django.urls import path

from observatory.pages.clusters import views

urlpatterns = [
    path("clusters/", views.cluster_list, name="clusters"),
    path("clusters/newest/", views.newest_cluster, name="cluster-newest"),
    path("clusters/<int:cluster_id>/", views.cluster_page, name="cluster"),
]
