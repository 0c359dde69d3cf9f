"""dask-gateway: the running clusters of a user, whose dashboards are reached through the gateway's proxy."""

from __future__ import annotations

from itertools import islice
from urllib.parse import quote

from pydantic import BaseModel, TypeAdapter

from observatory.clusters.addresses.http_addresses import clean_http_address
from observatory.collect.discovery.kind import (
    LIST_LIMIT,
    LIST_TIMEOUT,
    MOST_FOUND,
    DiscoveryKind,
    Found,
    Question,
    checked,
)
from observatory.collect.http.addresses import is_local


class Report(BaseModel):
    """A cluster in the answer. Its key of TLS is there, too, and is not read."""

    name: str
    status: str
    dashboard_route: str | None = None


REPORTS = TypeAdapter(dict[str, Report])


class Gateway(DiscoveryKind):
    label = "dask-gateway"
    examples = "https://gateway.example.org"

    def clean_address(self, text: str) -> str:
        return clean_http_address(text, "https://gateway.example.org")

    async def find(self, question: Question) -> list[Found]:
        client = question.client.with_credentials(question.credentials)
        url = f"{question.address}/api/v1/clusters/?status=running"
        _, document = await client.get_json(url, LIST_LIMIT, LIST_TIMEOUT)
        reports = checked(REPORTS, document, "dask-gateway's list of clusters").values()
        user = question.credentials.username
        running = (
            Found(
                f"{question.address}/clusters/{quote(report.name, safe='')}",
                f"{report.name} ({user})" if user else report.name,
            )
            for report in reports
            if report.status == "RUNNING" and report.dashboard_route
        )
        return list(islice(running, MOST_FOUND + 1))

    def is_on_this_machine(self, address: str) -> bool:
        return is_local(address)


DISCOVERY = Gateway()
