from __future__ import annotations

from django.urls import path

from observatory.pages.alerts import bulk, findings, views

urlpatterns = [
    path("alerts/", views.alert_list, name="alerts"),
    path("alerts/answer/", bulk.answer, name="alerts-answer"),
    path("alerts/flag/", views.flag, name="alert-flag"),
    path("alerts/<int:alert_id>/", views.alert_page, name="alert"),
    path("alerts/<int:alert_id>/history/", views.alert_history, name="alert-history"),
    path("alerts/<int:alert_id>/findings/", findings.alert_findings, name="alert-findings"),
    path("alerts/<int:alert_id>/acknowledge/", views.acknowledge_alert, name="alert-acknowledge"),
    path("alerts/<int:alert_id>/silence/", views.silence_alert, name="alert-silence"),
]
