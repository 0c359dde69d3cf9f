"""A chart of a cluster as a page for a frame, and the list of such pages.

Frames of other sites get no forms and no windows, so nobody can sign in in one: the page says what to do. The
list needs no sign-in, because JupyterLab's server asks for it. It is the same for every number.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from observatory.clusters.access import get_cluster
from observatory.clusters.tokens import access_tokens
from observatory.pages.framed.charts import CHARTS, plots
from observatory.pages.site.middleware import TOKEN_COOKIE

PARAMETER = "access_token"


@login_not_required
@require_safe
def plot_list(request: HttpRequest, cluster_id: int) -> HttpResponse:
    response = JsonResponse(plots())
    response["Access-Control-Allow-Origin"] = "*"  # browsers ask, too
    return response


@login_not_required
@require_safe
def framed_chart(request: HttpRequest, cluster_id: int, chart: str) -> HttpResponse:
    """The chart. An access token in the address becomes a cookie, where frames are allowed."""
    if chart not in CHARTS:
        raise Http404("There is no such chart.")
    if settings.FRAME_ANCESTORS and PARAMETER in request.GET:
        return _with_cookie(request)
    if not request.user.is_authenticated:
        return _private(
            render(request, "pages/framed/sign_in_first.html", {"page": _page(request)}, status=401)
        )
    cluster = get_cluster(request.user, cluster_id)
    api = f"{settings.SUB_PATH}/api/v1/clusters/{cluster.pk}"
    live = "" if hasattr(request, "access_token") else f"{settings.SUB_PATH}/ws/clusters/{cluster.pk}/live"
    context = {
        "cluster": cluster,
        "title": CHARTS[chart].title,
        "chart": CHARTS[chart].chart,
        "source": {"url": api, "live": live, "has_ended": cluster.ended is not None},
    }
    return _private(render(request, "pages/framed/chart.html", context))


def _with_cookie(request: HttpRequest) -> HttpResponse:
    """Leads to the same address without the token, which would stay in histories."""
    query = request.GET.copy()
    [*_, secret] = query.pop(PARAMETER)
    if access_tokens.find(secret) is None:
        context = {"page": _page(request), "is_wrong_token": True}
        return _private(render(request, "pages/framed/sign_in_first.html", context, status=401))
    response = redirect(f"{request.path}{f'?{query.urlencode()}' if query else ''}")
    response.set_cookie(
        TOKEN_COOKIE,
        secret,
        path=settings.SESSION_COOKIE_PATH,
        secure=settings.HTTPS,
        httponly=True,
        samesite=settings.SESSION_COOKIE_SAMESITE,  # type: ignore[arg-type]  # a word that it knows
    )
    return _private(response)


def _page(request: HttpRequest) -> str:
    return request.build_absolute_uri(reverse("sign-in"))


def _private(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "private, no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response
