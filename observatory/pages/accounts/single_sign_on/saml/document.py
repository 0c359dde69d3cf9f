"""The XML of an answer, before anything of it is believed: its size, its kind, the form of its signatures.

A signature names what it covers and how that is prepared. libxmlsec does what it says before the signature is
known to be right: it opens files, runs XPath and XSLT. So only the form that identity providers use passes.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import Any

from observatory.pages.accounts.single_sign_on.saml.toolkit import DS, SAML, SAMLP, Xml, XMLSyntaxError

LARGEST = 384 << 10
"""bytes of a request: an answer with a thousand groups has some 200,000"""
ENCODING = re.compile(r"<\?xml[^>]*\bencoding\s*=\s*[\"'](?!utf-8[\"'])", re.IGNORECASE)
MOST_ATTRIBUTES = 64
"""of an element: libxml2's time grows with their square, to seconds for a request of the largest size"""
C14N = {
    "http://www.w3.org/2001/10/xml-exc-c14n#",
    "http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
}
TRANSFORMS = C14N | {"http://www.w3.org/2000/09/xmldsig#enveloped-signature"}
INCLUSIVE_NAMESPACES = "{http://www.w3.org/2001/10/xml-exc-c14n#}InclusiveNamespaces"
SIGNATURES = {
    f"http://www.w3.org/2001/04/xmldsig-more#{key}-sha{bits}"
    for key in ("rsa", "ecdsa")
    for bits in (256, 384, 512)
}
DIGESTS = {
    "http://www.w3.org/2001/04/xmlenc#sha256",
    "http://www.w3.org/2001/04/xmldsig-more#sha384",
    "http://www.w3.org/2001/04/xmlenc#sha512",
}


class Refused(Exception):
    """An answer does not sign anybody in. The message is a sentence for the person."""


def clean(encoded: str) -> str:
    """An answer whose form is that of answers, in base64. Raises Refused."""
    if not encoded:
        raise Refused("There is no SAML response in it.")
    try:
        text = b64decode("".join(encoded.split()), validate=True).decode()
    except ValueError:
        raise Refused("It is not a SAML response: it is no base64 of UTF-8.") from None
    if "<!DOCTYPE" in text or ENCODING.match(text.lstrip()):
        raise Refused("It has a document type, or an encoding other than UTF-8.")
    try:
        root = Xml.to_etree(text)
    except (XMLSyntaxError, ValueError):
        raise Refused("It is not a SAML response: it is no XML.") from None
    if root.tag != f"{SAMLP}Response":
        raise Refused("It is not a SAML response.")
    if next(root.iter(f"{SAML}EncryptedAssertion"), None) is not None:
        raise Refused(
            "Its assertion is encrypted. An administrator can turn that off at the identity provider."
        )
    _check_ids(root)
    _check_signatures(root)
    return b64encode(text.encode()).decode()


def _check_ids(root: Any) -> None:
    """Of two elements of the same id, the signature could be of one and the person of the other."""
    found: list[str] = []
    for each in root.iter():
        if len(each.attrib) > MOST_ATTRIBUTES:
            raise Refused(f"One of its elements has more than {MOST_ATTRIBUTES} attributes.")
        found += [value for name, value in each.attrib.items() if name.lower() == "id"]
    if len(found) != len(set(found)):
        raise Refused("Two of its elements have the same id.")


def _check_signatures(root: Any) -> None:
    signed = []
    for signature in root.iter(f"{DS}Signature"):
        parent = signature.getparent()
        if parent is None or parent.tag not in (f"{SAMLP}Response", f"{SAML}Assertion"):
            raise Refused("It has a signature at a place where SAML responses have none.")
        if not _has_usual_form(signature, parent.get("ID")):
            raise Refused("Its signature is of an unusual or outdated kind: SHA-256, for example, is usual.")
        signed.append(parent.tag)
    if f"{SAML}Assertion" not in signed and next(root.iter(f"{SAML}Assertion"), None) is not None:
        raise Refused("Its assertion is not signed.")


def _has_usual_form(signature: Any, of: str | None) -> bool:
    """One reference to the element that the signature is in, prepared and signed in a usual way."""
    parts = _children(signature)
    info = _children(parts.get("SignedInfo"))
    reference = info.get("Reference")
    if set(parts) - {"KeyInfo"} != {"SignedInfo", "SignatureValue"} or reference is None or not of:
        return False
    covered = _children(reference)
    if set(info) != {"CanonicalizationMethod", "SignatureMethod", "Reference"}:
        return False
    if set(covered) - {"Transforms"} != {"DigestMethod", "DigestValue"}:
        return False
    steps = list(covered["Transforms"]) if "Transforms" in covered else []
    return (
        reference.get("URI") == f"#{of}"
        and _names(info["CanonicalizationMethod"], C14N)
        and _names(info["SignatureMethod"], SIGNATURES)
        and _names(covered["DigestMethod"], DIGESTS)
        and len(steps) <= 2
        and all(step.tag == f"{DS}Transform" and _names(step, TRANSFORMS) for step in steps)
    )


def _children(element: Any) -> dict[str, Any]:
    """The children by their names; none where two have the same or one is of another namespace."""
    children = [] if element is None else list(element)
    found = {child.tag.removeprefix(DS): child for child in children if child.tag.startswith(DS)}
    return found if len(found) == len(children) else {}


def _names(element: Any, algorithms: set[str]) -> bool:
    """Whether an element names one of the algorithms, without further instructions."""
    is_plain = all(each.tag == INCLUSIVE_NAMESPACES for each in element)
    return is_plain and element.get("Algorithm") in algorithms
