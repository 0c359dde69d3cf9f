"""Answers of a SAML identity provider that are believed, and those that are not."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.cache import cache

from observatory.base.sign_in.saml import Saml
from observatory.pages.accounts.single_sign_on.saml.answers import Answer, checked
from observatory.pages.accounts.single_sign_on.saml.attributes import identity_of
from observatory.pages.accounts.single_sign_on.saml.authn_request import request_to
from observatory.pages.accounts.single_sign_on.saml.document import Refused
from observatory.pages.accounts.single_sign_on.saml.metadata import (
    MetadataError,
    identity_provider,
    kept_as,
    parsed,
)
from observatory.pages.accounts.single_sign_on.saml.toolkit import own_metadata
from tests.pages.accounts.single_sign_on import GROUPS
from tests.support.debian_servers import program

if TYPE_CHECKING:
    from tests.pages.accounts.saml_identity_provider import IdentityProvider  # takes a second

SITE = "https://tools.example.org/dask"
ISSUER = "https://idp.example.org"
ADDRESS = "urn:oid:0.9.2342.19200300.100.1.3"

SAML = Saml(
    issuer=f"{ISSUER}/metadata",
    metadata="/metadata.xml",
    entity_id=f"{SITE}/sign-in/saml/metadata/",
    site=SITE,
    name="Example",
    id_attribute="",
    email_attributes=["email", ADDRESS],
    user_name_attributes=["urn:oid:0.9.2342.19200300.100.1.1"],
    groups_attribute=GROUPS,
    trusts_email=False,
)
SIGNED_INFO_ENDS = "</ns2:SignedInfo>"
A_REFERENCE = (
    '<ns2:Reference URI="file:///dev/zero"><ns2:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/>'
    "<ns2:DigestValue>AAAA</ns2:DigestValue></ns2:Reference>"
)
TRANSFORMS_END = "</ns2:Transforms>"
XPATH = (
    '<ns2:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116">'
    "<ns2:XPath>count(//*) > 0</ns2:XPath></ns2:Transform>"
)
LAUGHS = (
    "<!DOCTYPE lolz ["
    + '<!ENTITY a0 "lol">'
    + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    + "]><lolz>&a9;</lolz>"
)
OUTSIDE = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'


@pytest.fixture(scope="module")
def idp(tmp_path_factory: pytest.TempPathFactory) -> IdentityProvider:
    from tests.pages.accounts.saml_identity_provider import IdentityProvider

    folder = tmp_path_factory.mktemp("idp")
    return IdentityProvider(ISSUER, folder, program("xmlsec1", "xmlsec1"), own_metadata(SAML))


@pytest.fixture(scope="module")
def answered(idp: IdentityProvider) -> Callable[..., str]:
    """The XML of an answer with a fault."""

    def answer(fault: str = "", person: str = "1") -> str:
        url, _ = request_to(parsed(idp.metadata.encode(), SAML.issuer), SAML)
        return idp.answer(parse_qs(urlsplit(url).query)["SAMLRequest"][0], person, fault)[1]

    return answer


def check(idp: IdentityProvider, xml: str | bytes, saml: Saml = SAML) -> Answer:
    encoded = b64encode(xml.encode() if isinstance(xml, str) else xml).decode()
    return checked(saml, parsed(idp.metadata.encode(), saml.issuer), encoded)


def test_an_answer_names_the_person_and_the_request(
    idp: IdentityProvider, answered: Callable[..., str]
) -> None:
    xml = answered()
    answer = check(idp, xml)
    assert answer.person.id == "1"
    assert (answer.person.email, answer.person.user_name) == ("ann@example.org", "ann")
    assert answer.person.groups == ["dask", "others"]
    assert f'InResponseTo="{answer.request_id}"' in xml
    assert 0 < answer.seconds <= 301
    assert check(idp, xml).digest == answer.digest != check(idp, answered()).digest


def test_an_address_counts_as_verified_only_where_the_settings_say_so(
    idp: IdentityProvider, answered: Callable[..., str]
) -> None:
    data = check(idp, answered()).person.get_attributes()
    assert identity_of(SAML, data).verified_email == ""
    assert identity_of(replace(SAML, trusts_email=True), data).verified_email == "ann@example.org"
    assert identity_of(SAML, data).groups == ["dask", "others"]
    assert identity_of(replace(SAML, groups_attribute=""), data).groups is None


def test_an_attribute_can_identify_people_whose_name_id_is_transient(
    idp: IdentityProvider, answered: Callable[..., str]
) -> None:
    by_address = replace(SAML, id_attribute=ADDRESS)
    assert check(idp, answered("transient"), by_address).person.id == "ann@example.org"
    assert by_address.provider != SAML.provider, "an id is never taken for one of another kind"
    with pytest.raises(Refused, match="2 values of the attribute"):
        check(idp, answered(), replace(SAML, id_attribute=GROUPS))
    with pytest.raises(Refused, match="0 values of the attribute"):
        check(idp, answered(), replace(SAML, id_attribute="nothing"))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("unsigned", "assertion is not signed"),
        ("response signed", "assertion is not signed"),
        ("other key", "signature is not that of the identity provider"),
        ("sha1", "unusual or outdated kind"),
        ("expired", "has expired"),
        ("other audience", "for another site"),
        ("other recipient", "for another site"),
        ("other issuer", "from another identity provider"),
        ("unasked", "was not asked for"),
        ("transient", "NameID is transient"),
        ("refused", "did not sign you in"),
    ],
)
def test_a_faulty_answer_is_refused_with_the_reason(
    fault: str, reason: str, idp: IdentityProvider, answered: Callable[..., str]
) -> None:
    with pytest.raises(Refused, match=reason):
        check(idp, answered(fault))


def assertion_in(xml: str) -> str:
    found = re.search(r"<ns1:Assertion .*</ns1:Assertion>", xml, re.DOTALL)
    assert found
    return found[0]


def signature_in(xml: str) -> str:
    return re.findall(r"<ns2:Signature .*?</ns2:Signature>", xml, re.DOTALL)[0]


def forged(xml: str) -> str:
    """The assertion of somebody else, with the id and the signature of another."""
    return assertion_in(xml).replace(">1</ns1:NameID>", ">2</ns1:NameID>")


def unsigned(assertion: str) -> str:
    return re.sub(r"<ns2:Signature .*?</ns2:Signature>", "", assertion, flags=re.DOTALL)


def other_id(assertion: str) -> str:
    return re.sub(r' ID="[^"]*"', ' ID="evil"', assertion, count=1)


CHANGES: dict[str, Callable[[str], str]] = {
    "another person": lambda xml: xml.replace(">1</ns1:NameID>", ">2</ns1:NameID>"),
    "another group": lambda xml: xml.replace(">others<", ">admins<"),
    "another request in the signed part": lambda xml: re.sub(
        r'(?<=acs/" )InResponseTo="[^"]*"(?=/>)', 'InResponseTo="mine"', xml
    ),
    "another request in the unsigned part": lambda xml: re.sub(
        r'(?<= )InResponseTo="[^"]*"(?= Version)', 'InResponseTo="mine"', xml
    ),
    "another address in the unsigned part": lambda xml: re.sub(
        r'Destination="([^"]*)"', r'Destination="\1evil/"', xml
    ),
    "no signature any more": unsigned,
    "signature of the response": lambda xml: xml.replace("<ns0:Status>", signature_in(xml) + "<ns0:Status>"),
    # signature wrapping: the signed assertion is still there, beside, around or within a forged one
    "forged before": lambda xml: xml.replace(
        "<ns1:Assertion ", other_id(unsigned(forged(xml))) + "<ns1:Assertion ", 1
    ),
    "forged after": lambda xml: xml.replace(
        "</ns0:Response>", other_id(unsigned(forged(xml))) + "</ns0:Response>"
    ),
    "forged with the same id": lambda xml: xml.replace(
        "</ns0:Response>", unsigned(forged(xml)) + "</ns0:Response>"
    ),
    "signed one in the extensions": lambda xml: xml.replace(assertion_in(xml), other_id(forged(xml))).replace(
        "<ns0:Status>", f"<ns0:Extensions>{unsigned(assertion_in(xml))}</ns0:Extensions><ns0:Status>"
    ),
    "signed one in the signature": lambda xml: xml.replace(
        assertion_in(xml),
        other_id(forged(xml)).replace(
            "</ns2:Signature>", f"<ns2:Object>{unsigned(assertion_in(xml))}</ns2:Object></ns2:Signature>"
        ),
    ),
    "two signatures": lambda xml: xml.replace(
        "<ns1:Subject>",
        signature_in(xml) + "<ns1:Subject>",
    ),
    # what libxmlsec would do before it knows that the signature is wrong
    "a reference to a file": lambda xml: xml.replace(SIGNED_INFO_ENDS, A_REFERENCE + SIGNED_INFO_ENDS),
    "only a reference to a file": lambda xml: re.sub(
        "<ns2:Reference .*</ns2:Reference>", A_REFERENCE, xml, flags=re.DOTALL
    ),
    "XPath": lambda xml: xml.replace(TRANSFORMS_END, XPATH + TRANSFORMS_END),
    "key of the sender": lambda xml: xml.replace("rsa-sha256", "hmac-sha256"),
    "many attributes": lambda xml: xml.replace(
        "<ns1:AttributeValue ", "<ns1:AttributeValue " + "".join(f'a{i}="" ' for i in range(100)), 1
    ),
    "another root": lambda xml: assertion_in(xml).replace(
        "<ns1:Assertion ",
        '<ns1:Assertion xmlns:ns1="urn:oasis:names:tc:SAML:2.0:assertion" '
        'xmlns:ns2="http://www.w3.org/2000/09/xmldsig#" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ',
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_answer_that_was_changed_is_refused(
    change: str, idp: IdentityProvider, answered: Callable[..., str]
) -> None:
    xml = answered()
    changed = CHANGES[change](xml)
    assert changed != xml
    with pytest.raises(Refused):
        check(idp, changed)


def test_a_comment_in_an_id_does_not_cut_it(idp: IdentityProvider, answered: Callable[..., str]) -> None:
    """Comments are not signed: whoever owns ann@example.org.evil would be ann@example.org."""
    xml = answered("email as id").replace(
        "ann@example.org</ns1:NameID>", "ann@<!-- -->example.org</ns1:NameID>"
    )
    assert "<!--" in xml
    assert check(idp, xml).person.id == "ann@example.org"


@pytest.mark.parametrize(
    "hostile",
    [
        b"",
        b"\0",
        b"<",
        b"<a/>",
        b"hello",
        b"\xff\xfe<\0a\0/\0>\0",
        LAUGHS.encode(),
        OUTSIDE.encode(),
        OUTSIDE.encode("utf-16"),
        b'<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE x+AD4 <x/>',
        b"<a>" * 60_000,
        b'<?xml version="1.0"?><?xml-stylesheet href="file:///etc/passwd"?><a/>',
    ],
    ids=lambda hostile: repr(hostile[:20]),
)
def test_what_is_no_answer_is_refused_before_it_costs_anything(hostile: bytes, idp: IdentityProvider) -> None:
    with pytest.raises(Refused):
        check(idp, hostile)
    with pytest.raises(Refused, match="no base64"):
        checked(SAML, parsed(idp.metadata.encode(), SAML.issuer), "ä%%%")


METADATA_FAULTS: dict[str, tuple[Callable[[str], str], str]] = {
    "no XML": (lambda xml: "{}", "not XML"),
    "a document type": (lambda xml: LAUGHS, "not XML"),
    "another entity": (lambda xml: xml.replace("/metadata", "/other"), "has no identity provider"),
    "a service provider": (lambda xml: own_metadata(SAML), "has no identity provider"),
    "too old": (
        lambda xml: xml.replace("entityID=", 'validUntil="2020-01-01T00:00:00Z" entityID='),
        "valid until 2020",
    ),
    "no time": (lambda xml: xml.replace("entityID=", 'validUntil="soon" entityID='), "no time"),
    "another binding": (lambda xml: xml.replace("HTTP-Redirect", "SOAP"), "HTTP-Redirect"),
    "no TLS": (lambda xml: xml.replace(f"{ISSUER}/sso", "http://idp.example.org/sso"), "no https://"),
    "no script": (lambda xml: xml.replace(f"{ISSUER}/sso", "javascript:alert(1)"), "no https://"),
    "no certificate": (lambda xml: xml.replace('use="signing"', 'use="encryption"'), "no certificate"),
    "a broken certificate": (lambda xml: re.sub("MII[A-Za-z0-9]", "AAAA", xml), "certificates is not valid"),
}


@pytest.mark.parametrize("fault", METADATA_FAULTS)
def test_metadata_that_can_not_be_used_say_why(fault: str, idp: IdentityProvider, tmp_path: Path) -> None:
    change, reason = METADATA_FAULTS[fault]
    file = tmp_path / "metadata.xml"
    saml = replace(SAML, metadata=str(file))
    with pytest.raises(MetadataError, match="can't be read"):
        identity_provider(saml)
    file.write_text(idp.metadata)
    assert identity_provider(saml).sign_in_url == f"{ISSUER}/sso"
    changed = change(idp.metadata)
    assert changed != idp.metadata
    file.write_text(changed)
    with pytest.raises(MetadataError, match=reason):
        identity_provider(saml)


@dataclass
class MetadataServer:
    """Answers as it is told to, and counts."""

    body: bytes
    status: int = 200
    requests: int = 0
    port: int = 0


@pytest.fixture
def served(idp: IdentityProvider) -> Iterator[MetadataServer]:
    told = MetadataServer(idp.metadata.encode())

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.requests += 1
            self.send_response(told.status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            with suppress(ConnectionError):
                self.wfile.write(told.body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.port = server.server_port
    Thread(target=server.serve_forever, daemon=True).start()
    yield told
    server.shutdown()
    server.server_close()


def test_metadata_of_an_address_is_read_again_and_counts_for_a_day_without_an_answer(
    served: MetadataServer,
) -> None:
    saml = replace(SAML, metadata=f"http://127.0.0.1:{served.port}/metadata")
    for _ in range(2):
        assert identity_provider(saml).sign_in_url == f"{ISSUER}/sso"
    assert served.requests == 1

    kept, served.status = cache.get(kept_as(saml)), 500
    cache.set(kept_as(saml), kept | {"again": 0})
    for _ in range(2):  # the second one waits for its minute
        assert identity_provider(saml).sign_in_url == f"{ISSUER}/sso"
    assert served.requests == 2

    cache.set(kept_as(saml), kept | {"again": 0, "fetched": 0})
    with pytest.raises(MetadataError, match="answers 500"):
        identity_provider(saml)
    served.status = 302
    with pytest.raises(MetadataError, match="answers 302"):
        identity_provider(saml)
    served.status, served.body = 200, b"<" * (3 << 20)
    with pytest.raises(MetadataError, match="more than 2 MiB"):
        identity_provider(saml)


def test_a_second_certificate_counts_while_keys_are_changed(
    idp: IdentityProvider, answered: Callable[..., str]
) -> None:
    [other] = re.findall(r"(?s)-----\n(.*)\n-----", (idp.folder / "other.pem").read_text())
    [descriptor] = re.findall(r'(?s)<[^>]*KeyDescriptor use="signing".*</[^>]*KeyDescriptor>', idp.metadata)
    second = re.sub(r"MII[^<]*", other, descriptor)
    metadata = idp.metadata.replace(descriptor, second + descriptor)
    provider = parsed(metadata.encode(), SAML.issuer)
    assert len(provider.certificates) == 2
    for fault in ("", "other key"):
        encoded = b64encode(answered(fault).encode()).decode()
        assert checked(SAML, provider, encoded).person.id == "1"
