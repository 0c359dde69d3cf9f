from __future__ import annotations

from django.urls import path

from observatory.pages.targets import discovery_views, views

urlpatterns = [
    path("targets/", views.target_list, name="targets"),
    path("targets/<int:target_id>/", views.change, name="target"),
    path("targets/<int:target_id>/switch/", views.switch, name="target-switch"),
    path("targets/<int:target_id>/remove/", views.remove, name="target-remove"),
    path("targets/discoveries/add/", discovery_views.add, name="discovery-add"),
    path("targets/discoveries/<int:discovery_id>/", discovery_views.change, name="discovery"),
    path("targets/discoveries/<int:discovery_id>/switch/", discovery_views.switch, name="discovery-switch"),
    path("targets/discoveries/<int:discovery_id>/remove/", discovery_views.remove, name="discovery-remove"),
]
