"""Answers of the identity provider: whom they sign in."""

from __future__ import annotations

import calendar
import hashlib
import logging
import time
from dataclasses import dataclass
from typing import Any

from observatory.base.sign_in.saml import Saml
from observatory.pages.accounts.single_sign_on.saml.attributes import Person, first_text, texts
from observatory.pages.accounts.single_sign_on.saml.document import Refused, clean
from observatory.pages.accounts.single_sign_on.saml.metadata import IdentityProvider
from observatory.pages.accounts.single_sign_on.saml.toolkit import (
    SAML,
    Response,
    ToolkitError,
    ValidationError,
    acs_request,
    toolkit_settings,
)

LONGEST_ID = 191
"""characters that allauth can store"""
LONGEST_VALUE = 254
LONGEST_REQUEST = 3600
"""seconds; allauth forgets a request after 600"""
CLOCKS = "If it persists, the clocks of the identity provider and of Observatory differ."
EXPIRED = f"It has expired: try again. {CLOCKS}"
OTHER_SITE = "It is for another site, or for another address of this one."
WRONG_SIGNATURE = "Its signature is not that of the identity provider, or it was changed."
REASONS = {
    ValidationError.ASSERTION_EXPIRED: EXPIRED,
    ValidationError.SESSION_EXPIRED: EXPIRED,
    ValidationError.ASSERTION_TOO_EARLY: f"It is not valid yet: try again. {CLOCKS}",
    ValidationError.INVALID_SIGNATURE: WRONG_SIGNATURE,
    ValidationError.WRONG_NUMBER_OF_SIGNATURES: WRONG_SIGNATURE,
    ValidationError.WRONG_AUDIENCE: OTHER_SITE,
    ValidationError.WRONG_DESTINATION: OTHER_SITE,
    ValidationError.SP_NAME_QUALIFIER_NAME_MISMATCH: OTHER_SITE,
    ValidationError.WRONG_ISSUER: "It is from another identity provider.",
    ValidationError.STATUS_CODE_IS_NOT_SUCCESS: "The identity provider did not sign you in.",
    ValidationError.WRONG_NUMBER_OF_ASSERTIONS: "It must have exactly one assertion.",
    ValidationError.WRONG_SUBJECTCONFIRMATION: f"It is for another site or has expired: try again. {CLOCKS}",
}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a signed assertion says."""

    person: Person
    request_id: str
    """of the request that it answers"""
    digest: str
    """names the assertion"""
    seconds: int
    """from now on, in which it is valid"""


def checked(saml: Saml, provider: IdentityProvider, encoded: str) -> Answer:
    """The answer in the field SAMLResponse. Raises Refused."""
    response = Response(toolkit_settings(saml, provider.settings), clean(encoded))
    root = response.document
    try:
        response.is_valid(acs_request(saml), raise_exceptions=True)
        assertion = root.find(f"{SAML}Assertion")
        _check_audience(assertion, saml.entity_id)
        request_id, until = _confirmation(assertion, saml.acs_url)
        person = _person(saml, response)
    except Refused:
        raise
    except (ValidationError, ToolkitError) as error:
        log.warning("an answer of the SAML identity provider was refused: %r", str(error)[:500])
        reason = REASONS.get(error.code, "It is not a valid SAML response.")
        raise Refused(reason) from None
    except Exception as error:  # python3-saml raises such for times, for example
        log.warning("an answer of the SAML identity provider was refused: %r", str(error)[:500])
        raise Refused("It is not a valid SAML response.") from None
    if (
        root.get("InResponseTo", request_id) != request_id
        or root.get("Destination", saml.acs_url) != saml.acs_url
    ):
        raise Refused(OTHER_SITE)
    digest = hashlib.sha256(f"{saml.issuer} {assertion.get('ID')}".encode()).hexdigest()
    return Answer(person, request_id, digest, min(until - int(time.time()) + 1, LONGEST_REQUEST))


def _check_audience(assertion: Any, entity_id: str) -> None:
    """python3-saml accepts an assertion for nobody in particular, and any of several restrictions."""
    restrictions = assertion.findall(f"{SAML}Conditions/{SAML}AudienceRestriction")
    for restriction in restrictions:
        audiences = [(each.text or "").strip() for each in restriction.iter(f"{SAML}Audience")]
        if entity_id not in audiences:
            raise Refused(OTHER_SITE)
    if not restrictions:
        raise Refused("It does not say which site it is for.")


def _confirmation(assertion: Any, acs_url: str) -> tuple[str, int]:
    """The id of the request, and until when the answer counts, of what the identity provider signed.

    python3-saml takes the id from the response, which may be unsigned, and needs no time and no recipient.
    """
    is_unasked = False
    for each in assertion.findall(f"{SAML}Subject/{SAML}SubjectConfirmation"):
        data = each.find(f"{SAML}SubjectConfirmationData")
        if each.get("Method") != "urn:oasis:names:tc:SAML:2.0:cm:bearer" or data is None:
            continue
        until = _seconds(data.get("NotOnOrAfter", ""))
        if data.get("Recipient") != acs_url or until <= time.time():
            continue
        if request_id := data.get("InResponseTo"):
            return str(request_id), until
        is_unasked = True
    if is_unasked:
        raise Refused("It was not asked for: begin at the sign-in page of Observatory.")
    raise Refused(REASONS[ValidationError.WRONG_SUBJECTCONFIRMATION])


def _seconds(text: str) -> int:
    """A time of SAML as seconds since the epoch; 0 without one."""
    try:
        return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return 0


def _person(saml: Saml, response: Response) -> Person:
    values = response.get_attributes()
    groups = texts(values, saml.groups_attribute) if saml.groups_attribute else []
    email = first_text(values, saml.email_attributes) or _email_in_name_id(response)
    return Person(
        id=_id(saml, response, values),
        email=email if len(email) <= LONGEST_VALUE else "",
        user_name=first_text(values, saml.user_name_attributes)[:LONGEST_VALUE],
        groups=groups,
    )


def _id(saml: Saml, response: Response, values: dict[str, list[Any]]) -> str:
    if saml.id_attribute:
        found = set(texts(values, saml.id_attribute))
        if len(found) != 1:
            raise Refused(f"It has {len(found)} values of the attribute {saml.id_attribute}, and needs one.")
        [name] = found
    else:
        if response.get_nameid_format() == "urn:oasis:names:tc:SAML:2.0:nameid-format:transient":
            raise Refused(
                "Its NameID is transient: your account could not be found again. An administrator can choose "
                "a persistent one at the identity provider, or set OBSERVATORY_SAML_ID_ATTRIBUTE."
            )
        name = (response.get_nameid() or "").strip()
    if not 0 < len(name) <= LONGEST_ID:
        raise Refused(f"Your id in it has {len(name)} characters, and needs 1 to {LONGEST_ID}.")
    return name


def _email_in_name_id(response: Response) -> str:
    is_email = response.get_nameid_format() == "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
    return (response.get_nameid() or "").strip() if is_email else ""
