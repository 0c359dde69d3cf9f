"""Settings of those who sign people in: OpenID Connect and SAML."""
