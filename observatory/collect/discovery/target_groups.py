"""Reads Prometheus' target groups, which its HTTP and file service discovery have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from observatory.collect.discovery.kind import MOST_FOUND, Found, checked

NAME_LABELS = (
    "dask_cluster",
    "__meta_dask_cluster",
    "__meta_kubernetes_service_label_dask_org_cluster_name",
    "name",
)
"""Labels with the name of a cluster, the first one first."""
METRICS = "/metrics"


class TargetGroup(BaseModel):
    """https://prometheus.io/docs/prometheus/latest/http_sd/"""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    targets: list[str]
    labels: dict[str, str] = {}


GROUPS = TypeAdapter(list[TargetGroup])


def read_groups(document: Any) -> list[Found]:
    """The targets of all groups, at most one more than MOST_FOUND. Raises DiscoveryError."""
    groups = checked(GROUPS, document, "a list of target groups")
    return list(islice(_targets(groups), MOST_FOUND + 1))


def _targets(groups: list[TargetGroup]) -> Iterator[Found]:
    for group in groups:
        for target in group.targets:
            yield _found(target, group.labels)


def _found(target: str, labels: Mapping[str, str]) -> Found:
    name = next((labels[label] for label in NAME_LABELS if labels.get(label)), target)
    path = labels.get("__metrics_path__", METRICS)
    if "/" in target:
        return Found("", target, "a target is host:port, without a scheme or path")
    if not path.startswith("/") or not path.endswith(METRICS):
        return Found("", target, f"its __metrics_path__ does not end in {METRICS}")
    return Found(f"{labels.get('__scheme__', 'http')}://{target}{path.removesuffix(METRICS)}", name)
