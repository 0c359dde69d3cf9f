"""python3-saml, and this site's settings of it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from observatory.base.sign_in.saml import INSTALL, Saml

try:
    from lxml.etree import XMLSyntaxError
    from onelogin.saml2.authn_request import OneLogin_Saml2_Authn_Request as AuthnRequest
    from onelogin.saml2.errors import OneLogin_Saml2_Error as ToolkitError
    from onelogin.saml2.errors import OneLogin_Saml2_ValidationError as ValidationError
    from onelogin.saml2.response import OneLogin_Saml2_Response as Response
    from onelogin.saml2.settings import OneLogin_Saml2_Settings as ToolkitSettings
    from onelogin.saml2.xml_utils import OneLogin_Saml2_XML as Xml
except Exception as error:  # xmlsec has an error of its own for an lxml with another libxml2
    raise ImproperlyConfigured(
        f"OBSERVATORY_SAML_ISSUER needs python3-saml, which can't be loaded: {error}. {INSTALL}, "
        "with an lxml and an xmlsec that have the same libxml2, as those of requirements.txt do"
    ) from error

__all__ = ["AuthnRequest", "Response", "ToolkitError", "ValidationError", "XMLSyntaxError", "Xml"]

SAML = "{urn:oasis:names:tc:SAML:2.0:assertion}"
SAMLP = "{urn:oasis:names:tc:SAML:2.0:protocol}"
DS = "{http://www.w3.org/2000/09/xmldsig#}"
SECURITY = {
    "wantAssertionsSigned": True,
    "rejectDeprecatedAlgorithm": True,
    "requestedAuthnContext": False,
    "wantNameId": False,  # an attribute can identify people
    "wantAttributeStatement": False,
    "allowRepeatAttributeName": True,
    "allowSingleLabelDomains": True,
    "metadataValidUntil": "",
    "metadataCacheDuration": "",
}


def toolkit_settings(saml: Saml, idp: dict[str, Any] | None = None) -> ToolkitSettings:
    """Settings for messages to and from `idp`, or without it for this site's metadata."""
    given: dict[str, Any] = {
        "strict": True,
        "security": dict(SECURITY),
        "sp": {"entityId": saml.entity_id, "assertionConsumerService": {"url": saml.acs_url}},
    }
    if idp is not None:
        given["idp"] = idp
    return ToolkitSettings(given, sp_validation_only=idp is None)


def acs_request(saml: Saml) -> dict[str, str]:
    """The request of an answer as python3-saml describes it: by our own address, whatever its header says."""
    url = urlsplit(saml.acs_url)
    https = "on" if url.scheme == "https" else "off"
    return {"https": https, "http_host": url.netloc, "script_name": "", "path_info": url.path}


def own_metadata(saml: Saml) -> str:
    """What the administrator of the identity provider registers."""
    metadata = toolkit_settings(saml).get_sp_metadata()
    return metadata if isinstance(metadata, str) else metadata.decode()
