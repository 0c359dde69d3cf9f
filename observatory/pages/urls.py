"""The URLs of the pages."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

from observatory.pages import accounts, clusters, logs, projects, targets, task_errors, tasks, tokens

sign_in = login_not_required(
    LoginView.as_view(template_name="pages/sign_in.html", redirect_authenticated_user=True)
)

# pages name theirs; the admin doesn't
favicon = login_not_required(RedirectView.as_view(url=static("frontend/icons/favicon.svg")))

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="clusters"), name="home"),
    path("favicon.ico", favicon),
    path("sign-in/", sign_in, name="sign-in"),
    path("sign-in/once/<str:number>/<str:token>/", accounts.one_time_link, name="sign-in-once"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("account/password/", accounts.password, name="password"),
    path("clusters/", clusters.cluster_list, name="clusters"),
    path("clusters/<int:cluster_id>/", clusters.cluster_page, name="cluster"),
    path("clusters/<int:cluster_id>/errors/", task_errors.error_list, name="cluster-errors"),
    path("clusters/<int:cluster_id>/errors/<uuid:error_id>/", task_errors.error_page, name="cluster-error"),
    path("clusters/<int:cluster_id>/logs/", logs.log_list, name="cluster-logs"),
    path("clusters/<int:cluster_id>/tasks/", tasks.task_page, name="cluster-tasks"),
    path("targets/", targets.target_list, name="targets"),
    path("targets/<int:target_id>/", targets.change, name="target"),
    path("targets/<int:target_id>/switch/", targets.switch, name="target-switch"),
    path("targets/<int:target_id>/remove/", targets.remove, name="target-remove"),
    path("projects/", projects.project_list, name="projects"),
    path("projects/<slug:slug>/", projects.project_page, name="project"),
    path("projects/<slug:slug>/tokens/", tokens.make_token, name="token-make"),
    path("projects/<slug:slug>/tokens/<int:token_id>/revoke/", tokens.revoke_token, name="token-revoke"),
    path("projects/<slug:slug>/members/", projects.add_member, name="member-add"),
    path("projects/<slug:slug>/members/<int:membership_id>/", projects.change_member, name="member"),
]
