"""Prometheus' HTTP service discovery: a server that answers with target groups as JSON."""

from __future__ import annotations

from observatory.clusters.addresses.http_addresses import clean_http_address
from observatory.collect.discovery.kind import LIST_LIMIT, LIST_TIMEOUT, DiscoveryKind, Found, Question
from observatory.collect.discovery.target_groups import read_groups
from observatory.collect.http.addresses import is_local


class HttpServiceDiscovery(DiscoveryKind):
    label = "Prometheus: HTTP service discovery (http_sd)"
    examples = "https://host/targets"

    def clean_address(self, text: str) -> str:
        return clean_http_address(text, "https://host/targets", is_page=True)

    async def find(self, question: Question) -> list[Found]:
        client = question.client.with_credentials(question.credentials)
        _, document = await client.get_json(question.address, LIST_LIMIT, LIST_TIMEOUT)
        return read_groups(document)

    def is_on_this_machine(self, address: str) -> bool:
        return is_local(address)


DISCOVERY = HttpServiceDiscovery()
