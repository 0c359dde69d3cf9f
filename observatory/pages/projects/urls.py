from __future__ import annotations

from django.urls import path

from observatory.pages.projects import invitation_views, token_views, views

urlpatterns = [
    path("projects/", views.project_list, name="projects"),
    path("projects/<slug:slug>/", views.project_page, name="project"),
    path("projects/<slug:slug>/tokens/", token_views.make_token, name="token-make"),
    path("projects/<slug:slug>/tokens/<int:token_id>/revoke/", token_views.revoke_token, name="token-revoke"),
    path("projects/<slug:slug>/invitations/", invitation_views.make_invitation, name="invitation-make"),
    path(
        "projects/<slug:slug>/invitations/<int:invitation_id>/revoke/",
        invitation_views.revoke_invitation,
        name="invitation-revoke",
    ),
    path("projects/<slug:slug>/retention/back/", views.set_retention_back, name="retention-back"),
    path("projects/<slug:slug>/members/", views.add_member, name="member-add"),
    path("projects/<slug:slug>/members/<int:membership_id>/", views.change_member, name="member"),
]
