"""The requests of a rule's page: known metrics, recent values, clusters and runs, and back-tests."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_GET, require_POST

from observatory.alerts.admin.back_test import back_test_clusters
from observatory.alerts.admin.progress import noting, share_done
from observatory.alerts.admin.rule_form import EvaluationForm
from observatory.alerts.evaluation.back_test import BackTestError
from observatory.alerts.models import Condition, Rule
from observatory.alerts.rules import known_metrics as seen
from observatory.alerts.rules.rule_warnings import RuleWarning, warnings_of
from observatory.alerts.rules.scope import RuleScope, is_on_observatory
from observatory.alerts.silences.matchers import MatcherError, parse_matchers
from observatory.alerts.web.access import projects_of_metrics, projects_to_test_on
from observatory.clusters.models import Cluster, Target
from observatory.runs.models import Run
from observatory.store.times import from_seconds

SECONDS = {"hour": 3600, "day": 86_400, "week": 7 * 86_400, "month": 30 * 86_400}
DAYS, DAYS_ON_DASK = 32, 400
"""of a window; the second where a Dask cluster reads archived samples"""
MAX_CLUSTERS, MAX_CLUSTERS_ON_DASK = 8, 100
MAX_CLUSTERS_OF_RUNS = 40
"""clusters of a back-test of a rule on runs: often each run has a cluster of its own"""
MAX_SUGGESTIONS = 12
"""suggestions of each kind"""


class WindowForm(forms.Form):
    """The window and clusters of a back-test. Without clusters: the newest in the rule's scope."""

    window = forms.ChoiceField(choices=[*((name, name) for name in SECONDS), ("custom", "custom")])
    start = forms.FloatField(required=False)
    stop = forms.FloatField(required=False)

    def __init__(self, user: User, data: Any) -> None:
        super().__init__(data, prefix="back-test")
        self.fields["clusters"] = forms.ModelMultipleChoiceField(clusters_to_test_on(user), required=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("window") != "custom":
            cleaned["stop"] = time.time()
            cleaned["start"] = cleaned["stop"] - SECONDS.get(cleaned.get("window", ""), 0)
        start, stop = cleaned.get("start"), cleaned.get("stop")
        if start is None or stop is None:
            self.add_error("window", "Enter both times.")
        elif not 0 < start < stop < 4_102_444_800:
            self.add_error("window", "The window has to end after its start.")
        elif stop - start > (days := _most_days()) * SECONDS["day"]:
            self.add_error("window", f"A window has at most {days} days{_with_dask()}.")
        return cleaned


@require_GET
def metrics(request: HttpRequest) -> JsonResponse:
    """The known metrics."""
    user = cast(User, request.user)
    known = seen.known_metrics(projects_of_metrics(user))
    return JsonResponse({"metrics": [asdict(metric) for metric in known]})


@require_POST
def recent_values(request: HttpRequest) -> JsonResponse:
    """The recent values of the metric in the condition `recent`, in the scope of the rule on the page."""
    user = cast(User, request.user)
    prefix = request.POST.get("recent", "")
    metric, labels = request.POST.get(f"{prefix}-metric", ""), request.POST.get(f"{prefix}-labels", "")
    try:
        matchers = parse_matchers(labels)
    except MatcherError as error:
        return JsonResponse({"error": str(error)}, status=422)
    clusters = _in_scope(user, request).values_list("pk", flat=True)[:MAX_CLUSTERS]
    return JsonResponse(asdict(seen.recent(metric, matchers, list(clusters))))


@require_GET
def places(request: HttpRequest) -> JsonResponse:
    """Clusters and runs whose names have all words of `q`, the newest first."""
    clusters = clusters_to_test_on(cast(User, request.user))
    words = request.GET.get("q", "")[:100].split()
    runs = Run.objects.filter(cluster__in=clusters).select_related("cluster").order_by("-start")
    named = [_named(found, words)[:MAX_SUGGESTIONS] for found in (runs, clusters.order_by("-started"))]
    return JsonResponse(
        {"runs": [_run(run) for run in named[0]], "clusters": [_cluster(c) for c in named[1]]}
    )


@require_POST
def back_test_rule(request: HttpRequest) -> JsonResponse:
    """Back-tests the rule as it is on the page, saved or not."""
    user = cast(User, request.user)
    rule_form, window = _evaluation(user, request), WindowForm(user, request.POST)
    if not (rule_form.is_valid() & window.is_valid() & all(form.is_valid() for form in rule_form.submitted)):
        return JsonResponse({"errors": _errors(rule_form, window)}, status=422)
    if not rule_form.submitted:
        return JsonResponse({"errors": {"": ["Enter a condition first."]}}, status=422)
    start, stop = window.cleaned_data["start"], window.cleaned_data["stop"]
    conditions = [form.instance for form in rule_form.submitted]
    are_runs = all(condition.kind == Condition.Kind.RUN for condition in conditions)
    most = _most_clusters(are_runs)
    clusters = list(window.cleaned_data["clusters"][:most])
    more = 0
    if not clusters:
        there = _in_scope(user, request).filter(
            Q(ended=None) | Q(ended__gte=from_seconds(start)), started__lt=from_seconds(stop)
        )
        clusters, more = list(there[:most]), max(0, there.count() - most)
    try:
        report = noting(user.pk, request.POST.get("back-test-name", ""))
        answer = back_test_clusters(clusters, rule_form.instance, conditions, start, stop, report)
    except BackTestError as error:
        return JsonResponse({"errors": {"": [str(error)]}}, status=422)
    in_scope = _in_scope(user, request)[: seen.MAX_CLUSTERS]
    warnings = [
        asdict(warning) | {"prefix": rule_form.submitted[warning.condition_index].prefix}
        for warning in warnings_of(conditions, list(in_scope))
    ]
    return JsonResponse(answer | {"more_clusters": more, "warnings": warnings})


@require_GET
def back_test_progress(request: HttpRequest) -> JsonResponse:
    """The share that is done of a back-test that the person's page named `name`."""
    return JsonResponse({"share": share_done(cast(User, request.user).pk, request.GET.get("name", ""))})


def _most_days() -> int:
    return DAYS_ON_DASK if settings.SCAN_SCHEDULER else DAYS


def _with_dask() -> str:
    """What raises the limit."""
    if settings.SCAN_SCHEDULER:
        return ""
    return f", or {DAYS_ON_DASK} where OBSERVATORY_SCAN_SCHEDULER names a Dask cluster that reads the archive"


def _most_clusters(are_runs: bool) -> int:
    if settings.SCAN_SCHEDULER:
        return MAX_CLUSTERS_ON_DASK
    return MAX_CLUSTERS_OF_RUNS if are_runs else MAX_CLUSTERS


def _in_scope(user: User, request: HttpRequest) -> QuerySet[Cluster]:
    """The clusters in the scope of the rule on the page, the newest first."""
    form = _evaluation(user, request)
    form.is_valid()
    projects, targets = (form.cleaned_data.get(name, ()) for name in ("projects", "targets"))
    is_own = is_on_observatory(each.instance for each in form.submitted)
    names = form.cleaned_data.get("cluster_names", "")
    return clusters_of(user, RuleScope.over(projects, targets, names, is_own))


def _evaluation(user: User, request: HttpRequest) -> EvaluationForm:
    """The rule on the page."""
    form, projects = EvaluationForm(request.POST), projects_to_test_on(user)
    form.user = user
    for name, choices in ("projects", projects), ("targets", Target.objects.filter(project__in=projects)):
        cast("forms.ModelMultipleChoiceField[Any]", form.fields[name]).queryset = choices
    return form


def clusters_to_test_on(user: User) -> QuerySet[Cluster]:
    clusters = Cluster.objects.filter(project__in=projects_to_test_on(user))
    return clusters.select_related("project", "target")


def clusters_of(user: User, scope: RuleScope) -> QuerySet[Cluster]:
    """The clusters in the scope that the user may try rules on, the newest first."""
    return scope.clusters().filter(project__in=projects_to_test_on(user)).order_by("-last_seen")


def warnings_of_rule(user: User, rule: Rule) -> list[RuleWarning]:
    """The warnings about a saved rule."""
    clusters = clusters_of(user, RuleScope.of(rule))[: seen.MAX_CLUSTERS]
    return warnings_of(list(rule.conditions.all()), list(clusters))


def _errors(rule_form: EvaluationForm, window: WindowForm) -> dict[str, list[str]]:
    """Messages by field name on the page."""
    found: dict[str, list[str]] = {}
    all_forms: tuple[Any, ...] = (*rule_form.submitted, rule_form, window)
    for form in all_forms:
        for field, messages in form.errors.items():
            name = form.add_prefix(field) if field in form.fields else ""
            found.setdefault(name, []).extend(map(str, messages))
    return found


def _named(found: QuerySet[Any], words: Iterable[str]) -> QuerySet[Any]:
    for word in words:
        found = found.filter(name__icontains=word)
    return found


def _run(run: Run) -> dict[str, Any]:
    stop = run.stop or run.cluster.last_seen
    return {
        "cluster": run.cluster_id,
        "name": run.name,
        "of": run.cluster.name,
        "start": run.start.timestamp(),
        "stop": stop.timestamp(),
    }


def _cluster(cluster: Cluster) -> dict[str, Any]:
    return {
        "cluster": cluster.pk,
        "name": cluster.name,
        "of": cluster.project.name,
        "start": cluster.started.timestamp(),
        "stop": (cluster.ended or cluster.last_seen).timestamp(),
        "live": cluster.is_live,
    }
