from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

# the admin's pages name no icon: browsers request this one
favicon = login_not_required(RedirectView.as_view(url=static("frontend/icons/favicon.svg")))

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="clusters"), name="home"),
    path("favicon.ico", favicon),
]
