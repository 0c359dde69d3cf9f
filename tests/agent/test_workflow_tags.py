"""The tags that a run has in a task of Airflow, Prefect or Dagster.

These libraries are large, so their contexts are made here, with the names that the libraries themselves have.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from observatory.agent.runs import _tags
from observatory.agent.workflow_tags import workflow_tags

AIRFLOW = {
    "AIRFLOW_CTX_DAG_ID": "etl",
    "AIRFLOW_CTX_TASK_ID": "load",
    "AIRFLOW_CTX_DAG_RUN_ID": "manual__2026-11-29T01:02:03+00:00",
}
OF_AIRFLOW = {"flow": "etl", "task": "load", "flow_run": "airflow manual__2026-11-29T01:02:03+00:00"}


@pytest.mark.parametrize(
    ("environ", "tags"),
    [
        ({}, {}),
        (AIRFLOW, OF_AIRFLOW),
        (
            {"AIRFLOW_HOME": "/opt/airflow", "PREFECT_HOME": "/opt/prefect", "DAGSTER_HOME": "/opt/dagster"},
            {},
        ),
        ({"PREFECT__FLOW_RUN_ID": "7d3c"}, {"flow_run": "prefect 7d3c"}),
        ({"DAGSTER_RUN_JOB_NAME": "etl"}, {"flow": "etl"}),
        (
            {"DAGSTER_RUN_JOB_NAME": "etl", "DAGSTER_RUN_STEP_KEY": "load[3]", "DAGSTER_RUN_ID": "7d3c"},
            {"flow": "etl", "task": "load[3]", "flow_run": "dagster 7d3c"},
        ),
    ],
)
def test_programs_of_a_workflow_have_the_tags_of_its_variables(
    environ: Mapping[str, str], tags: Mapping[str, str]
) -> None:
    assert workflow_tags(environ) == tags


def loaded(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    module = ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


def context_of(**fields: Any) -> Any:
    return SimpleNamespace(get=lambda: SimpleNamespace(**fields))


@pytest.mark.parametrize("module", ["airflow.sdk", "airflow.operators.python"])
@pytest.mark.parametrize(("index", "tag"), [(3, {"map_index": "3"}), (0, {"map_index": "0"}), (-1, {})])
def test_a_mapped_task_of_airflow_has_its_index(
    monkeypatch: pytest.MonkeyPatch, module: str, index: int, tag: Mapping[str, str]
) -> None:
    task = SimpleNamespace(map_index=index)
    loaded(monkeypatch, module, get_current_context=lambda: {"ti": task})
    assert workflow_tags(AIRFLOW) == {**OF_AIRFLOW, **tag}


@pytest.mark.parametrize(("key", "index"), [("2", {"map_index": "2"}), ("cb6cd3ec-b93e-43f7-9e65", {})])
def test_a_task_of_prefect_has_its_flow_and_name(
    monkeypatch: pytest.MonkeyPatch, key: str, index: Mapping[str, str]
) -> None:
    flow = context_of(flow=SimpleNamespace(name="etl"), flow_run=SimpleNamespace(id="7d3c"))
    task_run = SimpleNamespace(dynamic_key=key, flow_run_id="7d3c")
    task = context_of(task=SimpleNamespace(name="load"), task_run=task_run)
    nothing = SimpleNamespace(get=lambda: None)
    loaded(monkeypatch, "prefect.context", FlowRunContext=flow, TaskRunContext=task)
    whole = {"flow": "etl", "task": "load", "flow_run": "prefect 7d3c", **index}
    assert workflow_tags({}) == whole
    loaded(monkeypatch, "prefect.context", FlowRunContext=flow, TaskRunContext=nothing)
    assert workflow_tags({}) == {"flow": "etl", "flow_run": "prefect 7d3c"}
    loaded(monkeypatch, "prefect.context", FlowRunContext=nothing, TaskRunContext=nothing)
    assert workflow_tags({}) == {}


def test_an_op_of_dagster_has_its_job_and_mapping_key(monkeypatch: pytest.MonkeyPatch) -> None:
    op = SimpleNamespace(name="load")
    context = context_of(job_name="etl", op=op, run_id="7d3c", get_mapping_key=lambda: None)
    loaded(monkeypatch, "dagster", OpExecutionContext=context)
    assert workflow_tags({}) == {"flow": "etl", "task": "load", "flow_run": "dagster 7d3c"}

    def get() -> Any:
        raise RuntimeError("No current OpExecutionContext in scope.")

    loaded(monkeypatch, "dagster", OpExecutionContext=SimpleNamespace(get=get))
    assert workflow_tags({}) == {}


@pytest.mark.parametrize("name", ["prefect.context", "dagster", "airflow.sdk"])
def test_a_library_that_changed_costs_its_tags_and_not_the_run(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    loaded(monkeypatch, name)
    assert workflow_tags({}) == {}
    assert workflow_tags(AIRFLOW) == OF_AIRFLOW


def test_tags_that_are_given_win_and_hostile_ones_are_made_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = {**AIRFLOW, "AIRFLOW_CTX_TASK_ID": "lo\x1bad\n" + "x" * 1_000}
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    tags = _tags({"flow": "mine", "git": "3f2a1c"})
    assert (tags["flow"], tags["git"], tags["flow_run"]) == ("mine", "3f2a1c", OF_AIRFLOW["flow_run"])
    assert len(tags["task"]) == 200
    assert tags["task"].isprintable()
