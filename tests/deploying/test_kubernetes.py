"""deploy/kubernetes is not applied: it is compared with the API's schemas, Compose and the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from django.urls import resolve

from observatory import __version__
from observatory.runtime.health.processes import CHECKS

ROOT = Path(__file__).resolve().parent.parent.parent
BASE = ROOT / "deploy/kubernetes/base"
EXAMPLES = ROOT / "deploy/kubernetes/examples"
KUBERNETES = "1.37"
IMAGE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
SETTINGS = set(re.findall(r"^- `([A-Z_]+)`[ :]", (ROOT / "docs/settings.md").read_text(), re.MULTILINE))
NAME, COMPONENT = "app.kubernetes.io/name", "app.kubernetes.io/component"
Manifest = dict[str, Any]


def documents(path: Path) -> list[Manifest]:
    return list(yaml.safe_load_all(path.read_text()))


KUSTOMIZATION = documents(BASE / "kustomization.yaml")[0]
OVERLAY = documents(EXAMPLES / "overlay/kustomization.yaml")[0]
MANIFESTS = [document for name in KUSTOMIZATION["resources"] for document in documents(BASE / name)]
OF_EXAMPLES = [*documents(EXAMPLES / "secret.yaml"), *documents(EXAMPLES / "overlay/ingress.yaml")]
DASK: Manifest = documents(EXAMPLES / "dask-cluster.yaml")[0]


def of_kind(*kinds: str) -> list[Manifest]:
    return [manifest for manifest in MANIFESTS if manifest["kind"] in kinds]


WORKLOADS = {
    workload["metadata"]["labels"][COMPONENT]: workload["spec"] for workload in of_kind("Deployment", "Job")
}
PODS: dict[str, Manifest] = {name: spec["template"]["spec"] for name, spec in WORKLOADS.items()}
MAIN: dict[str, Manifest] = {name: pod["containers"][0] for name, pod in PODS.items()}


def containers() -> Iterator[tuple[Manifest, Manifest]]:
    """Each container with its pod."""
    for pod in PODS.values():
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            yield pod, container


def name_of(manifest: Manifest) -> str:
    return f"{manifest['kind']} {manifest['metadata']['name']}"


@pytest.mark.parametrize("manifest", [*MANIFESTS, *OF_EXAMPLES], ids=name_of)
def test_it_is_valid_by_the_schema_of_the_api(manifest: Manifest) -> None:
    kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def test_the_validator_refuses_what_is_not_in_the_schema() -> None:
    service = {**of_kind("Service")[0], "spec": {"prots": []}}
    with pytest.raises(kubernetes_validate.ValidationError, match="prots"):
        kubernetes_validate.validate(service, KUBERNETES, strict=True)


def test_every_file_of_the_base_is_used() -> None:
    used = {
        *KUSTOMIZATION["resources"],
        "kustomization.yaml",
        *KUSTOMIZATION["configMapGenerator"][0]["envs"],
    }
    assert {path.name for path in BASE.iterdir()} == used


def test_each_process_of_compose_is_a_workload_with_the_same_command() -> None:
    assert set(WORKLOADS) == {"web", "collector", "worker", "alerts", "beat", "migrate"}
    for name, container in MAIN.items():
        assert container.get("command") == COMPOSE[name].get("command"), name


def test_selectors_match_the_pods_that_they_are_for() -> None:
    for spec in WORKLOADS.values():
        labels = spec["template"]["metadata"]["labels"]
        assert spec.get("selector", {"matchLabels": labels})["matchLabels"] == labels
    for service in of_kind("Service"):
        component = service["metadata"]["labels"][COMPONENT]
        assert service["spec"]["selector"] == {NAME: "observatory", COMPONENT: component}
        ports = {port["name"] for port in MAIN[component]["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    budgets = {
        budget["spec"]["selector"]["matchLabels"][COMPONENT]: budget
        for budget in of_kind("PodDisruptionBudget")
    }
    assert set(budgets) == {name for name, spec in WORKLOADS.items() if spec.get("replicas", 1) > 1}


def test_every_pod_has_one_rule_for_what_it_may_reach_and_only_web_is_reached() -> None:
    outward = [
        policy["spec"] for policy in of_kind("NetworkPolicy") if policy["spec"]["policyTypes"] == ["Egress"]
    ]
    named = [name for spec in outward for name in spec["podSelector"]["matchExpressions"][0]["values"]]
    assert sorted(named) == sorted(WORKLOADS)
    inward = [
        policy["spec"] for policy in of_kind("NetworkPolicy") if policy["spec"]["policyTypes"] == ["Ingress"]
    ]
    assert [spec["podSelector"]["matchLabels"].get(COMPONENT) for spec in inward if "ingress" in spec] == [
        "web"
    ]
    assert {NAME: "observatory"} in [spec["podSelector"]["matchLabels"] for spec in inward]


def test_there_is_one_beat_also_while_it_is_replaced() -> None:
    assert (WORKLOADS["beat"]["replicas"], WORKLOADS["beat"]["strategy"]) == (1, {"type": "Recreate"})


def test_web_listens_on_the_port_of_the_image() -> None:
    [port] = MAIN["web"]["ports"]
    assert re.findall(r"^EXPOSE (\d+)$", IMAGE, re.MULTILINE) == [str(port["containerPort"])]
    assert f'"--port", "{port["containerPort"]}"' in IMAGE


def test_probes_ask_for_addresses_and_processes_that_exist() -> None:
    for kind, path in (
        ("startupProbe", "/healthz"),
        ("livenessProbe", "/healthz"),
        ("readinessProbe", "/readyz"),
    ):
        request = MAIN["web"][kind]["httpGet"]
        assert (request["path"], request["port"]) == (path, "http")
        assert request["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
        resolve(path)
    asked = {
        name: container["livenessProbe"]["exec"]["command"]
        for name, container in MAIN.items()
        if name in CHECKS
    }
    assert asked == {name: ["dask-observatory", "alive", name] for name in CHECKS}


def test_nothing_starts_before_the_migrations_are_applied() -> None:
    waiting = {name for name, pod in PODS.items() if pod.get("initContainers")}
    # web is not ready before, beat needs no tables
    assert set(WORKLOADS) - waiting == {"web", "beat", "migrate"}


def test_containers_have_no_privileges_and_write_to_volumes_only() -> None:
    user = int(re.findall(r"^USER (\d+)$", IMAGE, re.MULTILINE)[0])
    for pod, container in containers():
        security = pod["securityContext"]
        assert (security["runAsNonRoot"], security["runAsUser"], security["fsGroup"]) == (True, user, user)
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"requests", "limits"} == set(container["resources"])
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounts["tmp"] == "/tmp"
        assert set(mounts) <= {volume["name"] for volume in pod["volumes"]}


def test_volumes_are_where_the_image_and_compose_have_them() -> None:
    made = IMAGE.partition("install --directory --owner 10001 ")[2].partition("\n\n")[0].split()
    for _, container in containers():
        assert {mount["mountPath"] for mount in container["volumeMounts"]} <= {*made, "/tmp"}
    shared = [
        {mount["name"]: mount["mountPath"] for mount in MAIN[name]["volumeMounts"]}["data"]
        for name in ("web", "worker")
    ]
    assert shared == ["/srv/observatory/data"] * 2
    [claim] = of_kind("PersistentVolumeClaim")
    for name in ("web", "worker"):
        claims = [volume.get("persistentVolumeClaim") for volume in PODS[name]["volumes"]]
        assert {"claimName": claim["metadata"]["name"]} in claims


def test_settings_are_documented_and_secret_ones_are_in_the_secret() -> None:
    lines = (BASE / "settings.env").read_text().splitlines()
    settings = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    merged = settings | dict(
        literal.split("=", 1) for literal in OVERLAY["configMapGenerator"][0]["literals"]
    )
    secret = OF_EXAMPLES[0]["stringData"]
    assert {*merged, *secret} <= SETTINGS
    assert not set(merged) & set(secret)
    for hosts in (settings["OBSERVATORY_ALLOWED_HOSTS"], merged["OBSERVATORY_ALLOWED_HOSTS"]):
        assert {"localhost", of_kind("Service")[0]["metadata"]["name"]} <= set(hosts.split())
    names = {OVERLAY["configMapGenerator"][0]["name"], OF_EXAMPLES[0]["metadata"]["name"]}
    assert names == {KUSTOMIZATION["configMapGenerator"][0]["name"]}
    for _, container in containers():
        sources = [next(iter(source.values()))["name"] for source in container["envFrom"]]
        assert set(sources) == names
    own = {variable["name"] for variable in MAIN["web"]["env"]}
    assert {name for name in own if name.startswith("OBSERVATORY_")} <= SETTINGS


def test_the_overlay_runs_this_version() -> None:
    [image] = OVERLAY["images"]
    assert image["newTag"] == __version__
    assert {container["image"] for _, container in containers()} == {image["name"]}


@pytest.mark.parametrize("part", ["scheduler", "worker"])
def test_the_pods_of_the_example_for_the_dask_operator_are_valid(part: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": part}, "spec": DASK["spec"][part]["spec"]}
    kubernetes_validate.validate(pod, KUBERNETES, strict=True)


def test_its_scheduler_alone_has_an_agent_by_settings_that_exist() -> None:
    [scheduler] = DASK["spec"]["scheduler"]["spec"]["containers"]
    environment = {variable["name"]: variable.get("value") for variable in scheduler["env"]}
    page = (ROOT / "docs/agent.md").read_text()
    known = set(re.findall(r"`(OBSERVATORY_[A-Z]+)`", page))
    known |= {
        f"DASK_OBSERVATORY__{name.upper().replace('-', '_')}"
        for name in re.findall(r"^\| `observatory\.([a-z-]+)`", page, re.MULTILINE)
    }
    preload = "DASK_DISTRIBUTED__SCHEDULER__PRELOAD"
    assert set(environment) - known == {"EXTRA_PIP_PACKAGES", preload}
    assert f"{preload}='{environment[preload]}'" in page
    assert environment["OBSERVATORY_URL"] == "http://observatory-web.observatory"
    assert environment["OBSERVATORY_URL"].partition("//")[2] in str(OVERLAY["configMapGenerator"])
    assert "env" not in DASK["spec"]["worker"]["spec"]["containers"][0]
