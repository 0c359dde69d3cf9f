"""Kubernetes: the services of schedulers that the dask-operator makes, from the API server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import quote, urlencode

from django.core.exceptions import ValidationError
from pydantic import BaseModel, Field, TypeAdapter

from observatory.clusters.addresses.http_addresses import clean_http_address
from observatory.collect.credentials.credentials import Credentials
from observatory.collect.discovery.kind import (
    LIST_LIMIT,
    LIST_TIMEOUT,
    MOST_FOUND,
    DiscoveryError,
    DiscoveryKind,
    Found,
    Question,
    checked,
)

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Token and authorities of the pod in which the server runs."""
IN_CLUSTER = "https://kubernetes.default.svc"
SELECTOR = "dask.org/component=scheduler"
CLUSTER_NAME = "dask.org/cluster-name"
DASHBOARD = "http-dashboard"
"""Name of the port, which the operator itself needs."""
PAGE = 250
"""Services in one answer."""


class Metadata(BaseModel):
    name: str
    namespace: str
    labels: dict[str, str] = {}


class Port(BaseModel):
    name: str = ""
    port: int


class Specification(BaseModel):
    ports: list[Port] = []


class Service(BaseModel):
    metadata: Metadata
    spec: Specification


class ListMetadata(BaseModel):
    continuation: str = Field("", alias="continue")


class ServiceList(BaseModel):
    """https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/"""

    metadata: ListMetadata
    items: list[Service]


SERVICES = TypeAdapter(ServiceList)


class Kubernetes(DiscoveryKind):
    label = "Kubernetes: clusters of the dask-operator"
    examples = "https://host:6443, or empty for the cluster in which this server runs"
    may_share_credentials = False
    has_namespaces = True

    def clean_address(self, text: str) -> str:
        if text:
            return clean_http_address(text, "https://host:6443")
        if not SERVICE_ACCOUNT.is_dir():
            raise ValidationError(
                "This server does not run in Kubernetes with a service account: enter the address of the API "
                "server, as in https://host:6443, and a bearer token or a client certificate."
            )
        return ""

    async def find(self, question: Question) -> list[Found]:
        credentials = question.credentials if question.address else await asyncio.to_thread(service_account)
        client = question.client.with_credentials(credentials)
        place = f"/namespaces/{quote(question.namespace, safe='')}" if question.namespace else ""
        url = f"{question.address or IN_CLUSTER}/api/v1{place}/services"
        found: list[Found] = []
        query = {"labelSelector": SELECTOR, "limit": str(PAGE)}
        while True:
            _, document = await client.get_json(f"{url}?{urlencode(query)}", LIST_LIMIT, LIST_TIMEOUT)
            page = checked(SERVICES, document, "a list of services")
            found += map(_found, page.items)
            if not page.metadata.continuation or len(found) > MOST_FOUND:
                return found
            query["continue"] = page.metadata.continuation

    def is_on_this_machine(self, address: str) -> bool:
        return False

    def why_superuser(self, address: str) -> str:
        if address:
            return ""
        return "Only superusers may use the service account of the server: enter an address and credentials."


DISCOVERY = Kubernetes()


def service_account() -> Credentials:
    """The credentials of the pod, which Kubernetes renews. Raises DiscoveryError."""
    try:
        token = (SERVICE_ACCOUNT / "token").read_text().strip()
        return Credentials(token=token, ca=(SERVICE_ACCOUNT / "ca.crt").read_text())
    except OSError as error:
        raise DiscoveryError(f"the service account of this server cannot be read: {error.strerror}") from None


def _found(service: Service) -> Found:
    metadata = service.metadata
    name = metadata.labels.get(CLUSTER_NAME) or metadata.name
    port = next((port.port for port in service.spec.ports if port.name == DASHBOARD), None)
    if port is None:
        return Found("", f"{metadata.namespace}/{metadata.name}", f"the service has no port {DASHBOARD}")
    return Found(f"http://{metadata.name}.{metadata.namespace}.svc:{port}", name)
