"""Personal access tokens: list, create, revoke."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from observatory.clusters.tokens import access_tokens
from observatory.pages.accounts.forms import AccessTokenForm


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def token_list(request: HttpRequest) -> HttpResponse:
    """The user's tokens. POST creates one and shows its secret, which isn't stored."""
    user = cast(User, request.user)
    form = AccessTokenForm(request.POST if request.method == "POST" else None)
    made = None
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        days = int(values["days"]) if values["days"] else None
        try:
            made = access_tokens.make(user, values["name"], days, values["scopes"])
            form = AccessTokenForm()
        except ValidationError as error:
            form.add_error(None, error)
    context = {
        "form": form,
        "made": made,
        "tokens": user.access_tokens.all(),
        "origin": request.build_absolute_uri(reverse("home")).rstrip("/"),
    }
    return render(request, "pages/accounts/access_tokens.html", context, status=422 if form.errors else 200)


@require_POST
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    access_tokens.revoke(cast(User, request.user), token_id)
    messages.success(request, "The token is revoked. Programs can no longer use it.")
    return redirect("access-tokens")
