"""The protocol of SCIM 2.0 (RFC 7644) for people: reading, filters, making, replacing, PATCH, deleting."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from pydantic import ValidationError
from scim2_models import (
    Context,
    Email,
    Error,
    InvalidFilterException,
    InvalidSyntaxException,
    ListResponse,
    Meta,
    Mutability,
    NotFoundException,
    PatchOp,
    PayloadTooLargeException,
    ResourceType,
    Schema,
    SCIMException,
    SearchRequest,
    ServiceProviderConfig,
    UniquenessException,
)
from scim2_models import User as ScimUser

from observatory.clusters.addresses.public_urls import public_url
from observatory.clusters.scim.models import ScimPerson
from observatory.clusters.scim.people import Told, add, people, person, remove, replace

MOST_LISTED = 200
LONGEST_FILTER = 2_000
LARGEST_BODY = 256 * 2**10
MOST_OPERATIONS = 100
NAMED = re.compile(r'\s*(userName|externalId|id)\s+eq\s+"([^"\\]*)"\s*', re.IGNORECASE)
"""what providers ask before they make somebody: answered without reading all people"""
COLUMNS = {"username": "user_name__iexact", "externalid": "external_id", "id": "pk"}
KEPT = {
    "userName": Mutability.read_write,
    "active": Mutability.read_write,
    "emails": Mutability.immutable,
}
"""attributes of people; others are taken and not kept"""
CONTENT_TYPE = "application/scim+json"


def answer(request: HttpRequest, kind: str, id: str) -> HttpResponse:
    """The answer to a request that has the token, also to a wrong one."""
    try:
        return _ANSWERS[kind](request, id)
    except KeyError:
        error = NotFoundException(detail=f"There is no {kind[:100]!r}.").to_error()
    except SCIMException as refused:
        error = refused.to_error()
    except IntegrityError:
        error = UniquenessException(detail="Somebody else made that user just now.").to_error()
    except ValidationError as wrong:
        error = Error.from_validation_errors(wrong)[0]
    return refusal(error)


def refusal(error: Error) -> HttpResponse:
    return _response(error.model_dump(), int(error.status or 400))


def _users(request: HttpRequest, id: str) -> HttpResponse:
    match request.method, bool(id):
        case "GET", False:
            return _listed(request)
        case "GET", True:
            return _shown(request, person(id))
        case "POST", False:
            made = add(_body(request, Told, Context.RESOURCE_CREATION_REQUEST))
            answered = _shown(request, made, 201)
            answered["Location"] = _location(made)
            return answered
        case "PUT", True:
            known = person(id)
            replace(known, _body(request, Told, Context.RESOURCE_REPLACEMENT_REQUEST))
            return _shown(request, known)
        case "PATCH", True:
            known = person(id)
            told = _resource(known)
            _body(request, PatchOp[Told], Context.RESOURCE_PATCH_REQUEST).patch(told)
            replace(known, told)
            return _shown(request, known)
        case "DELETE", True:
            remove(person(id))
            return HttpResponse(status=204)
    return refusal(Error(status=405, detail=f"{request.method} isn't possible here."))


def _listed(request: HttpRequest) -> HttpResponse:
    """The people that match a filter, some at a time."""
    parameters = request.GET.dict()
    if len(parameters.get("filter", "")) > LONGEST_FILTER:
        raise InvalidFilterException(detail=f"A filter has at most {LONGEST_FILTER} characters.")
    asked = SearchRequest[Told].model_validate(parameters, scim_ctx=Context.SEARCH_REQUEST)
    first = max(asked.start_index or 1, 1) - 1
    count = min(MOST_LISTED if asked.count is None else max(asked.count, 0), MOST_LISTED)
    named = NAMED.fullmatch(parameters.get("filter", ""))
    rows = people()
    if named:
        value = named[2]
        is_possible = named[1].lower() != "id" or (value.isdecimal() and value.isascii() and len(value) < 10)
        rows = rows.filter(**{COLUMNS[named[1].lower()]: value}) if is_possible else rows.none()
    found: Iterable[Any]
    if asked.filter is None or named:
        total = rows.count()
        found = map(_resource, rows[first : first + count])
    else:
        matching = [row for row in rows.iterator(chunk_size=500) if asked.filter.match(_resource(row))]
        total = len(matching)
        found = map(_resource, islice(matching, first, first + count))
    chosen = list(found)
    listed = ListResponse[Told](
        total_results=total, start_index=first + 1, items_per_page=len(chosen), resources=chosen
    )
    return _response(listed.model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE, response_parameters=asked))


def _shown(request: HttpRequest, known: ScimPerson, status: int = 200) -> HttpResponse:
    chosen = {name: request.GET[name] for name in ("attributes", "excludedAttributes") if name in request.GET}
    asked = SearchRequest[Told].model_validate(chosen, scim_ctx=Context.SEARCH_REQUEST)
    return _response(
        _resource(known).model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE, response_parameters=asked),
        status,
    )


def _resource(known: ScimPerson) -> Told:
    address = known.user.email
    return Told(
        id=str(known.pk),
        external_id=known.external_id or None,
        user_name=known.user_name,
        active=known.user.is_active,
        emails=[Email(value=address, type=Email.Type.work, primary=True)] if address else None,
        meta=Meta(
            resource_type="User",
            created=known.created,
            last_modified=known.changed,
            location=_location(known),
        ),
    )


def _location(known: ScimPerson) -> str:
    return public_url(reverse("scim", args=["Users", str(known.pk)]))


def _body(request: HttpRequest, model: Any, context: Context) -> Any:
    if len(request.body) > LARGEST_BODY:
        raise PayloadTooLargeException(detail=f"A body has at most {LARGEST_BODY // 1024} KiB.")
    try:
        content = json.loads(request.body)
    except (ValueError, RecursionError):
        raise InvalidSyntaxException(detail="The body is no JSON.") from None
    if not isinstance(content, dict):
        raise InvalidSyntaxException(detail="The body is no JSON object.")
    operations = content.get("Operations")
    if isinstance(operations, list) and len(operations) > MOST_OPERATIONS:
        raise PayloadTooLargeException(detail=f"A PATCH has at most {MOST_OPERATIONS} operations.")
    return model.model_validate(content, scim_ctx=context)


def _configuration(request: HttpRequest, id: str) -> HttpResponse:
    return _described(
        request,
        ServiceProviderConfig.model_validate(
            {
                "patch": {"supported": True},
                "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0},
                "filter": {"supported": True, "maxResults": MOST_LISTED},
                "changePassword": {"supported": False},
                "sort": {"supported": False},
                "etag": {"supported": False},
                "authenticationSchemes": [
                    {
                        "type": "oauthbearertoken",
                        "name": "Bearer token",
                        "description": "OBSERVATORY_SCIM_TOKEN in the header Authorization.",
                    }
                ],
            }
        ),
    )


def _types(request: HttpRequest, id: str) -> HttpResponse:
    return _some(request, [ResourceType.from_resource(ScimUser)], ResourceType, id)


def _schemas(request: HttpRequest, id: str) -> HttpResponse:
    """That of people, with what is kept of them."""
    schema = ScimUser.to_schema()
    schema.attributes = [each for each in schema.attributes or [] if each.name in KEPT]
    for each in schema.attributes:
        each.mutability = KEPT[str(each.name)]
    return _some(request, [schema], Schema, id)


def _some(request: HttpRequest, described: list[Any], model: Any, id: str) -> HttpResponse:
    """One by its id, or all."""
    if id:
        for each in described:
            if each.id == id:
                return _described(request, each)
        raise NotFoundException(detail=f"There is no {id[:200]!r}.")
    count = len(described)
    return _described(
        request,
        ListResponse[model](total_results=count, start_index=1, items_per_page=count, resources=described),
    )


def _described(request: HttpRequest, what: Any) -> HttpResponse:
    if request.method != "GET":
        return refusal(Error(status=405, detail=f"{request.method} isn't possible here."))
    return _response(what.model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE))


def _response(content: Any, status: int = 200) -> HttpResponse:
    return HttpResponse(json.dumps(content), status=status, content_type=CONTENT_TYPE)


_ANSWERS = {
    "Users": _users,
    "ServiceProviderConfig": _configuration,
    "ResourceTypes": _types,
    "Schemas": _schemas,
}
