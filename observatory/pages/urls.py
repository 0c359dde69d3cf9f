"""The URLs of the pages."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

from observatory.pages.accounts import access_tokens
from observatory.pages.accounts import views as accounts
from observatory.pages.alerts import views as alerts
from observatory.pages.clusters import views as clusters
from observatory.pages.comparison import views as comparison
from observatory.pages.errors import views as task_errors
from observatory.pages.exchange import exports, imports, jobs
from observatory.pages.links import views as links
from observatory.pages.logs import views as logs
from observatory.pages.projects import tokens
from observatory.pages.projects import views as projects
from observatory.pages.runs import changes as run_changes
from observatory.pages.runs import run
from observatory.pages.runs import views as runs
from observatory.pages.targets import views as targets
from observatory.pages.tasks import views as tasks

sign_in = login_not_required(
    LoginView.as_view(template_name="pages/accounts/sign_in.html", redirect_authenticated_user=True)
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
    path("account/tokens/", access_tokens.token_list, name="access-tokens"),
    path("account/tokens/<int:token_id>/revoke/", access_tokens.revoke_token, name="access-token-revoke"),
    path("clusters/", clusters.cluster_list, name="clusters"),
    path("clusters/<int:cluster_id>/", clusters.cluster_page, name="cluster"),
    path("clusters/<int:cluster_id>/errors/", task_errors.error_list, name="cluster-errors"),
    path("clusters/<int:cluster_id>/errors/<uuid:error_id>/", task_errors.error_page, name="cluster-error"),
    path("clusters/<int:cluster_id>/logs/", logs.log_list, name="cluster-logs"),
    path("clusters/<int:cluster_id>/tasks/", tasks.task_page, name="cluster-tasks"),
    path("runs/compare/", comparison.compare_page, name="runs-compare"),
    path("runs/history/", comparison.history_page, name="run-history"),
    path("clusters/<int:cluster_id>/runs/", runs.cluster_runs, name="cluster-runs"),
    path("runs/", runs.run_list, name="runs"),
    path("runs/change/", run_changes.change, name="runs-change"),
    path("runs/delete/", run_changes.delete, name="runs-delete"),
    path("runs/filters/", runs.save_filter, name="filter-save"),
    path("runs/filters/<int:filter_id>/remove/", runs.remove_filter, name="filter-remove"),
    path("runs/<int:run_id>/", run.run_page, name="run"),
    path("runs/<int:run_id>/settings/", run_changes.settings, name="run-settings"),
    path("runs/<int:run_id>/links/", run.run_links, name="run-links"),
    path("runs/<int:run_id>/links/<int:link_id>/revoke/", run.revoke_link, name="link-revoke"),
    path("r/<str:token>", links.link_page, name="link"),
    path("r/<str:token>/picture.png", links.link_picture, name="link-picture"),
    path("r/<str:token>/logs", links.link_logs, name="link-logs"),
    path("r/<str:token>/errors", links.link_errors, name="link-errors"),
    path("runs/<int:run_id>/export/", exports.run_export, name="run-export"),
    path("import/", imports.import_page, name="import"),
    path("jobs/<int:job_id>/", jobs.job_page, name="job"),
    path("jobs/<int:job_id>/cancel/", jobs.cancel, name="job-cancel"),
    path("jobs/<int:job_id>/download/", jobs.download, name="job-download"),
    path("alerts/", alerts.alert_list, name="alerts"),
    path("alerts/flag/", alerts.flag, name="alert-flag"),
    path("alerts/<int:alert_id>/", alerts.alert_page, name="alert"),
    path("alerts/<int:alert_id>/history/", alerts.alert_history, name="alert-history"),
    path("alerts/<int:alert_id>/acknowledge/", alerts.acknowledge_alert, name="alert-acknowledge"),
    path("alerts/<int:alert_id>/silence/", alerts.silence_alert, name="alert-silence"),
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
