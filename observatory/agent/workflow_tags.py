"""The tags of a run that a task of Airflow, Prefect or Dagster opens: its flow, task, map index and flow run.

The library tells them where the program uses it. Programs that it starts, as Airflow's BashOperator does,
have its variables. Nothing is imported that the program didn't import itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from observatory.wire.client_code.runs import FLOW_RUN

FLOW, TASK, MAP_INDEX = "flow", "task", "map_index"


def workflow_tags(environ: Mapping[str, str]) -> dict[str, str]:
    """The tags by name; {} outside of a workflow."""
    found: dict[str, Any] = {}
    for of_tool in (_of_prefect, _of_dagster, _of_airflow):
        found = of_tool(environ)
        if found:
            break
    return {name: str(value) for name, value in found.items() if value not in (None, "")}


def _of_prefect(environ: Mapping[str, str]) -> dict[str, Any]:
    """Source: prefect.context; PREFECT__FLOW_RUN_ID, which its workers set."""
    found: dict[str, Any] = {}
    if context := _loaded("prefect.context"):
        with suppress(Exception):
            if flow := context.FlowRunContext.get():
                found = {FLOW: flow.flow.name, FLOW_RUN: f"prefect {flow.flow_run.id}"}
        with suppress(Exception):
            if task := context.TaskRunContext.get():
                key = task.task_run.dynamic_key
                # counted by Prefect 2, a UUID in Prefect 3
                found |= {TASK: task.task.name, MAP_INDEX: key if key.isdecimal() else None}
                found.setdefault(FLOW_RUN, f"prefect {task.task_run.flow_run_id}")
    if id := environ.get("PREFECT__FLOW_RUN_ID"):
        found.setdefault(FLOW_RUN, f"prefect {id}")
    return found


def _of_dagster(environ: Mapping[str, str]) -> dict[str, Any]:
    """Source: OpExecutionContext.get; variables that launchers of runs set."""
    if dagster := _loaded("dagster"):
        with suppress(Exception):  # outside of an op
            context = dagster.OpExecutionContext.get()
            return {
                FLOW: context.job_name,
                TASK: context.op.name,
                MAP_INDEX: context.get_mapping_key(),
                FLOW_RUN: f"dagster {context.run_id}",
            }
    id = environ.get("DAGSTER_RUN_ID")
    found = {FLOW: environ.get("DAGSTER_RUN_JOB_NAME"), TASK: environ.get("DAGSTER_RUN_STEP_KEY")}
    return {**found, FLOW_RUN: f"dagster {id}" if id else None} if any(found.values()) or id else {}


def _of_airflow(environ: Mapping[str, str]) -> dict[str, Any]:
    """Source: get_current_context; the variables AIRFLOW_CTX_* of each task."""
    run = environ.get("AIRFLOW_CTX_DAG_RUN_ID")
    if not run:
        return {}
    return {
        FLOW: environ.get("AIRFLOW_CTX_DAG_ID"),
        TASK: environ.get("AIRFLOW_CTX_TASK_ID"),
        MAP_INDEX: _map_index_of_airflow(),
        FLOW_RUN: f"airflow {run}",
    }


def _map_index_of_airflow() -> int | None:
    """Of a mapped task: Airflow has no variable for it."""
    for module in ("airflow.sdk", "airflow.operators.python"):
        current: Callable[[], Mapping[str, Any]] | None = getattr(
            _loaded(module), "get_current_context", None
        )
        with suppress(Exception):
            if current is not None and (index := current()["ti"].map_index) >= 0:
                return int(index)
    return None


def _loaded(module: str) -> Any:
    return sys.modules.get(module)
