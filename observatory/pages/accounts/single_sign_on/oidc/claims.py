"""The claims of an OpenID Connect issuer on a person."""

from __future__ import annotations

from typing import Any

from observatory.base.sign_in.oidc import Oidc
from observatory.pages.accounts.single_sign_on.identity import Identity, groups_in


def identity_of(issuer: Oidc, data: dict[str, Any]) -> Identity:
    """The person in the ID token and the answer of the userinfo endpoint, which counts first."""
    claims = {**data.get("id_token", {}), **data.get("userinfo", {})}
    email = claims.get("email")
    is_verified = claims.get("email_verified") is True and isinstance(email, str)
    groups = groups_in(claims.get(issuer.groups_claim)) if issuer.groups_claim else None
    return Identity(str(email) if is_verified else "", groups)
