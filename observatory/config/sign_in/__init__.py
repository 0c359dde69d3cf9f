"""Settings of those who sign people in: OpenID Connect, SAML, the headers of a proxy."""
