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

# allauth looks the names of these up
if settings.OIDC:
    from observatory.pages.accounts.single_sign_on.oidc import views as oidc

    provider = {"provider_id": settings.OIDC.provider}
    urlpatterns += [
        path("sign-in/oidc/", oidc.begin, provider, name="openid_connect_login"),
        path("sign-in/oidc/callback/", oidc.complete, provider, name="openid_connect_callback"),
    ]
if settings.SAML:
    from observatory.pages.accounts.single_sign_on.saml import views as saml

    urlpatterns += [
        path("sign-in/saml/", saml.begin, name="saml_login"),
        path("sign-in/saml/metadata/", saml.metadata, name="saml_metadata"),
        path("sign-in/saml/acs/", saml.acs, name="saml_acs"),
        path("sign-in/saml/acs/finish/", saml.complete, name="saml_finish_acs"),
    ]
