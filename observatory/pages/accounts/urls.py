from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from observatory.pages.accounts import token_views, views

sign_in = login_not_required(
    LoginView.as_view(template_name="pages/accounts/sign_in.html", redirect_authenticated_user=True)
)

urlpatterns = [
    path("sign-in/", sign_in, name="sign-in"),
    path("sign-in/once/<str:number>/<str:token>/", views.one_time_link, name="sign-in-once"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("account/password/", views.password, name="password"),
    path("account/tokens/", token_views.token_list, name="access-tokens"),
    path("account/tokens/<int:token_id>/revoke/", token_views.revoke_token, name="access-token-revoke"),
]
