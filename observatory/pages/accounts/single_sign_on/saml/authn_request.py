"""Requests to the identity provider to sign a person in."""

from __future__ import annotations

from urllib.parse import urlencode

from observatory.base.sign_in.saml import Saml
from observatory.pages.accounts.single_sign_on.saml.metadata import IdentityProvider
from observatory.pages.accounts.single_sign_on.saml.toolkit import AuthnRequest, toolkit_settings


def request_to(provider: IdentityProvider, saml: Saml) -> tuple[str, str]:
    """The URL that asks the identity provider, and the request's id."""
    request = AuthnRequest(toolkit_settings(saml, provider.settings))
    mark = "&" if "?" in provider.sign_in_url else "?"
    url = f"{provider.sign_in_url}{mark}{urlencode({'SAMLRequest': request.get_request()})}"
    return url, str(request.get_id())
