"""SCIM: an identity provider tells who joins and who leaves. Requests are as Okta and Entra send them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from observatory.clusters.accounts.departures import sessions_of
from observatory.clusters.audit.models import AuditEntry
from observatory.clusters.models import ScimPerson
from observatory.clusters.tokens import access_tokens
from tests.support.projects import HOSTILE, World, signed_in

pytestmark = pytest.mark.django_db
TOKEN = "scim-0123456789abcdef0123"
CORE = "urn:ietf:params:scim:schemas:core:2.0:User"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


class Provider:
    """An identity provider with the token."""

    def __init__(self, token: str = TOKEN) -> None:
        self._client = Client(headers={"Authorization": f"Bearer {token}"})

    def send(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._client.generic(
            method, f"/scim/v2/{path}", content, "application/scim+json", query_params=query
        )

    def get(self, path: str, **query: str) -> Any:
        answer = self.send("GET", path, **query)
        assert answer.status_code == 200, answer.content
        assert answer["Content-Type"] == "application/scim+json"
        return answer.json()

    def add(self, user_name: str, /, **told: Any) -> str:
        """The id of a person whom the provider assigns."""
        answer = self.send("POST", "Users", {"schemas": [CORE], "userName": user_name, **told})
        assert answer.status_code == 201, answer.content
        assert answer["Location"].endswith(f"/scim/v2/Users/{answer.json()['id']}")
        return str(answer.json()["id"])

    def patch(self, id: str, *operations: dict[str, Any]) -> Any:
        return self.send("PATCH", f"Users/{id}", {"schemas": [PATCH], "Operations": list(operations)})


@pytest.fixture
def provider(world: World, settings: LazySettings) -> Provider:
    settings.SCIM_TOKEN = TOKEN
    return Provider()


def refusal(answer: HttpResponse) -> tuple[int, str]:
    """Status and detail of an error, which is SCIM's."""
    content = json.loads(answer.content)
    assert content["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert content["status"] == str(answer.status_code)
    return answer.status_code, content.get("detail", "")


LEAVING = [
    pytest.param([{"op": "replace", "value": {"active": False}}], id="Okta"),
    pytest.param([{"op": "Replace", "path": "active", "value": "False"}], id="Entra"),
    pytest.param([{"op": "replace", "path": "active", "value": False}], id="RFC 7644"),
]


@pytest.mark.parametrize("operations", LEAVING)
def test_who_leaves_loses_sessions_and_tokens(
    operations: list[dict[str, Any]], provider: Provider, world: World
) -> None:
    editor = world.people["editor"]
    client, other = signed_in(editor), world.client("viewer")
    _, secret = access_tokens.make(editor, "ci", None)
    id = provider.add("editor")
    assert client.get("/projects/").status_code == 200, "to be assigned changes nothing"
    answer = provider.patch(id, *operations)
    assert (answer.status_code, answer.json()["active"]) == (200, False)
    editor.refresh_from_db()
    assert not editor.is_active
    assert sessions_of(editor) == []
    assert access_tokens.find(secret) is None
    assert client.get("/projects/").status_code == 302
    assert other.get("/projects/").status_code == 200

    assert provider.patch(id, {"op": "replace", "value": {"active": True}}).json()["active"] is True
    editor.refresh_from_db()
    assert editor.is_active
    assert access_tokens.find(secret) is None, "what was revoked stays so"
    assert client.get("/projects/").status_code == 302


def test_the_audit_log_says_that_the_provider_did_it(provider: Provider, world: World) -> None:
    id = provider.add("viewer")
    provider.patch(id, {"op": "replace", "path": "active", "value": False})
    entry = AuditEntry.objects.get(kind="person", action="change")
    assert (entry.actor_kind, entry.actor_name, entry.door) == ("token", "identity provider", "SCIM")
    assert (entry.subject, entry.person_id) == ("viewer", world.people["viewer"].pk)
    assert entry.changes == {"is_active": [True, False]}
    world.people["viewer"].delete()
    told = AuditEntry.objects.filter(kind="person of the identity provider")
    assert told
    assert "viewer" not in str(list(told.values()))


def test_a_person_who_is_deleted_is_deactivated_and_can_come_back(provider: Provider, world: World) -> None:
    id = provider.add("editor")
    assert provider.send("DELETE", f"Users/{id}").status_code == 204
    assert not User.objects.get(username="editor").is_active
    assert refusal(provider.send("GET", f"Users/{id}"))[0] == 404
    assert refusal(provider.send("DELETE", f"Users/{id}"))[0] == 404
    assert provider.get("Users")["totalResults"] == 0
    assert provider.add("editor") == id
    assert User.objects.get(username="editor").is_active


def test_put_replaces_and_what_it_leaves_out_stays(provider: Provider, world: World) -> None:
    id = provider.add("viewer", externalId="00u1")
    answer = provider.send("PUT", f"Users/{id}", {"schemas": [CORE], "userName": "viewer@example.org"})
    assert (answer.status_code, answer.json()["active"]) == (200, True)
    told = {"schemas": [CORE], "userName": "viewer@example.org", "externalId": "00u2", "active": False}
    assert provider.send("PUT", f"Users/{id}", told).json()["externalId"] == "00u2"
    viewer = User.objects.get(username="viewer")
    assert (viewer.is_active, viewer.email) == (False, "")


def test_a_provider_finds_its_people_before_it_makes_them(provider: Provider, world: World) -> None:
    for number in range(5):
        provider.add(f"p{number}@example.org", externalId=f"00u{number}", active=number != 3)
    found = provider.get("Users", filter='userName eq "P3@example.org"')
    assert (found["totalResults"], found["Resources"][0]["active"]) == (1, False)
    assert provider.get("Users", filter='externalId eq "00u4"')["totalResults"] == 1
    assert provider.get("Users", filter='userName eq "viewer"')["totalResults"] == 0, "not assigned"
    assert provider.get("Users", filter='active eq true and userName sw "p"')["totalResults"] == 4
    assert provider.get("Users", filter='id eq "nothing"')["totalResults"] == 0
    page = provider.get("Users", startIndex="2", count="2")
    assert (page["totalResults"], page["itemsPerPage"], page["startIndex"]) == (5, 2, 2)
    assert [each["userName"] for each in page["Resources"]] == ["p1@example.org", "p2@example.org"]
    [only] = provider.get("Users", count="1", attributes="userName")["Resources"]
    assert only.keys() == {"schemas", "id", "userName"}
    assert provider.get("Users", count="0")["totalResults"] == 5


def test_an_account_is_found_by_its_address_and_a_new_one_has_no_role(
    provider: Provider, world: World
) -> None:
    User.objects.filter(username="viewer").update(email="Vi@example.org")
    id = provider.add("vi.ewer", emails=[{"value": "vi@example.org", "type": "work", "primary": True}])
    assert ScimPerson.objects.get(pk=id).user == world.people["viewer"]
    joined = ScimPerson.objects.get(pk=provider.add("new@example.org", name={"givenName": "N"})).user
    assert (joined.username, joined.email) == ("new@example.org", "new@example.org")
    assert not joined.has_usable_password()
    assert not joined.memberships.exists()  # type: ignore[attr-defined]
    assert not joined.is_staff
    assert not joined.is_superuser
    User.objects.filter(username__in=["owner", "editor"]).update(email="two@example.org")
    answer = provider.send("POST", "Users", {"schemas": [CORE], "userName": "two@example.org"})
    assert refusal(answer)[0] == 409


def test_who_was_deactivated_by_hand_is_not_activated(provider: Provider, world: World) -> None:
    id = provider.add("editor")
    editor = User.objects.get(username="editor")
    editor.is_active = False
    editor.save()
    status, detail = refusal(provider.patch(id, {"op": "replace", "value": {"active": True}}))
    assert (status, detail.startswith("An administrator of Observatory deactivated")) == (403, True)
    assert not User.objects.get(username="editor").is_active


def test_the_last_administrator_stays(provider: Provider, world: World) -> None:
    id = provider.add("superuser")
    assert refusal(provider.send("DELETE", f"Users/{id}"))[0] == 403
    assert refusal(provider.patch(id, {"op": "replace", "value": {"active": False}}))[0] == 403
    assert User.objects.get(username="superuser").is_active
    User.objects.filter(username="owner").update(is_superuser=True)
    assert provider.send("DELETE", f"Users/{id}").status_code == 204


def test_what_providers_tell_besides_changes_nothing(provider: Provider, world: World) -> None:
    id = provider.add("viewer", password="hunter2hunter2", **{ENTERPRISE: {"department": "ETL"}})
    answer = provider.patch(
        id,
        {"op": "replace", "path": "name.givenName", "value": HOSTILE},
        {"op": "Add", "path": f"{ENTERPRISE}:department", "value": "ML"},
        {"op": "replace", "path": "roles", "value": [{"value": "superuser"}]},
    )
    assert answer.status_code == 200
    viewer = User.objects.get(username="viewer")
    assert (viewer.first_name, viewer.is_superuser, viewer.has_usable_password()) == ("", False, False)
    assert "hunter2" not in json.dumps(provider.get(f"Users/{id}"))


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "Users", b"{", 400),
        ("POST", "Users", b"[]", 400),
        ("POST", "Users", b"[" * 100_000, 400),
        ("POST", "Users", b" " * 300_000, 413),
        ("POST", "Users", {"schemas": [CORE]}, 400),
        ("POST", "Users", {"schemas": [CORE], "userName": " "}, 400),
        ("POST", "Users", {"schemas": [CORE], "userName": "a\0b"}, 400),
        ("POST", "Users", {"schemas": [CORE], "userName": "x" * 201}, 400),
        ("POST", "Users", {"schemas": [CORE], "userName": HOSTILE}, 400),
        ("POST", "Users", {"schemas": [CORE], "userName": "known"}, 409),
        ("POST", "Users", {"schemas": [CORE], "userName": "KNOWN"}, 409),
        ("PATCH", "Users/ID", {"schemas": [PATCH], "Operations": [{"op": "move", "path": "active"}]}, 400),
        ("PATCH", "Users/ID", {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "x["}]}, 400),
        ("PATCH", "Users/ID", {"schemas": [PATCH], "Operations": [{"op": "remove"}] * 101}, 413),
        (
            "PATCH",
            "Users/ID",
            {"schemas": [PATCH], "Operations": [{"op": "remove", "path": "userName"}]},
            400,
        ),
        ("PUT", "Users/ID", {"schemas": [CORE], "userName": "taken"}, 409),
        ("GET", "Users?filter=userName+foo", None, 400),
        ("GET", f"Users?filter={'(' * 1_000}", None, 400),
        ("GET", f"Users?filter={'x' * 2_001}", None, 400),
        ("GET", "Users?count=many", None, 400),
        ("GET", "Users/0", None, 404),
        ("GET", "Users/٣", None, 404),
        ("GET", "Users/99999999999999999999", None, 404),
        ("GET", "Groups", None, 404),
        ("PUT", "Users", {}, 405),
        ("POST", "Schemas", {}, 405),
    ],
)
def test_what_is_wrong_is_refused_with_an_error_of_scim(
    provider: Provider, method: str, path: str, body: Any, status: int
) -> None:
    id = provider.add("known")
    provider.add("taken")
    before = list(ScimPerson.objects.values()), User.objects.count()
    answer = provider.send(method, path.replace("ID", id), body)
    assert refusal(answer)[0] == status
    assert (list(ScimPerson.objects.values()), User.objects.count()) == before


def test_nobody_without_the_token_learns_or_changes_anything(
    provider: Provider, world: World, settings: LazySettings
) -> None:
    id = provider.add("editor")
    gone = {"schemas": [PATCH], "Operations": [{"op": "replace", "value": {"active": False}}]}
    _, secret = access_tokens.make(world.people["superuser"], "ci", None)
    for other in (Provider(""), Provider("wrong"), Provider(TOKEN + "x"), Provider(secret), Provider("é")):
        answer = other.send("PATCH", f"Users/{id}", gone)
        assert refusal(answer)[0] == 401
        assert answer["WWW-Authenticate"] == "Bearer"
    answer = world.client("superuser").patch(f"/scim/v2/Users/{id}", gone, "application/scim+json")
    assert answer.status_code == 401
    assert AuditEntry.objects.filter(action="sign-in-failed", door="SCIM").count() == 1
    settings.SCIM_TOKEN = ""
    assert refusal(Provider("").send("GET", "Users"))[0] == 404
    assert refusal(provider.send("GET", "Users"))[0] == 404
    assert User.objects.get(username="editor").is_active


def test_it_says_what_it_can(provider: Provider) -> None:
    told = provider.get("ServiceProviderConfig")
    assert (told["patch"]["supported"], told["filter"]["maxResults"]) == (True, 200)
    assert (told["bulk"]["supported"], told["sort"]["supported"]) == (False, False)
    [kind] = provider.get("ResourceTypes")["Resources"]
    assert (kind["endpoint"], kind["schema"]) == ("/Users", CORE)
    assert provider.get("ResourceTypes/User") == kind
    assert "schemaExtensions" not in kind or not kind["schemaExtensions"]
    [schema] = provider.get("Schemas")["Resources"]
    assert {each["name"]: each["mutability"] for each in schema["attributes"]} == {
        "userName": "readWrite",
        "active": "readWrite",
        "emails": "immutable",
    }
    assert provider.get(f"Schemas/{CORE}") == schema
    assert refusal(provider.send("GET", "Schemas/none"))[0] == 404
