from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LogoutView
from django.urls import path

from observatory.pages.accounts import join_views, token_views, views

sign_in = login_not_required(views.SignIn.as_view())

urlpatterns = [
    path("sign-in/", sign_in, name="sign-in"),
    path("sign-in/once/<str:number>/<str:token>/", views.one_time_link, name="sign-in-once"),
    path("join/<str:token>/", join_views.join_page, name="join"),
    path("join/<str:token>/account/", join_views.join_with_account, name="join-with-account"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("account/password/", views.password, name="password"),
    path("account/tokens/", token_views.token_list, name="access-tokens"),
    path("account/tokens/<int:token_id>/revoke/", token_views.revoke_token, name="access-token-revoke"),
]

if settings.OIDC:
    from observatory.pages.accounts import oidc_views

    provider = {"provider_id": settings.OIDC.provider}
    urlpatterns += [
        # allauth looks these names up
        path("sign-in/oidc/", oidc_views.begin, provider, name="openid_connect_login"),
        path("sign-in/oidc/callback/", oidc_views.complete, provider, name="openid_connect_callback"),
    ]
