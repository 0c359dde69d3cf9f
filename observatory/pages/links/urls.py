from __future__ import annotations

from django.urls import path

from observatory.pages.links import views

urlpatterns = [
    path("r/<str:token>", views.link_page, name="link"),
    path("r/<str:token>/picture.png", views.link_picture, name="link-picture"),
    path("r/<str:token>/logs", views.link_logs, name="link-logs"),
    path("r/<str:token>/errors", views.link_errors, name="link-errors"),
]
