from __future__ import annotations

from django.urls import path

from observatory.pages.targets import views

urlpatterns = [
    path("targets/", views.target_list, name="targets"),
    path("targets/<int:target_id>/", views.change, name="target"),
    path("targets/<int:target_id>/switch/", views.switch, name="target-switch"),
    path("targets/<int:target_id>/remove/", views.remove, name="target-remove"),
]
