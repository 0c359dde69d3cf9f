"""The URLs of every room."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from observatory.config import celery as celery  # pages send tasks to its broker
from observatory.config.api import api
from observatory.pages.accounts.views import admin_sign_in, password
from observatory.pages.site import errors

admin.autodiscover()  # here, so that commands without pages start without them

handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.server_error

urlpatterns = [
    path("admin/login/", admin_sign_in),
    path("admin/password_change/", password),
    path("admin/", admin.site.urls),
    path("api/v1/", api.urls),
    path("", include("observatory.clusters.scim.urls")),
    path("", include("observatory.runtime.urls")),
    path("", include("observatory.pages.urls")),
]
