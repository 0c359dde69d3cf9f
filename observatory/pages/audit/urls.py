from __future__ import annotations

from django.urls import path

from observatory.pages.audit import views

urlpatterns = [path("audit/", views.entry_list, name="audit")]
