"""What the template of a card shows of batch jobs: their systems, and a sufficient request."""

from __future__ import annotations

from typing import Any

from observatory.clusters.formatting import format_bytes

NAMES = {"slurm": "Slurm", "pbs": "PBS", "lsf": "LSF", "htcondor": "HTCondor"}

Item = dict[str, Any]


def drawn_batch_jobs(found: Item | None) -> Item | None:
    """The context of batch_jobs.html."""
    if not found:
        return None
    systems = dict.fromkeys(request["system"] for request in found["requests"])
    return {
        **found,
        "systems": ", ".join(NAMES.get(system, system) for system in systems),
        "headline": next((text for request in found["requests"] if (text := _headline(request))), ""),
        "jobs": [{**job, "more_nodes": job["nodes"] - 1} for job in found["jobs"]],
        "more": found["count"] - len(found["jobs"]),
        "more_requests": found["request_count"] - len(found["requests"]),
    }


def _headline(request: Item) -> str:
    """ "--mem=6G would have been enough, peak 5.1 GiB of 16.0 GiB"."""
    recommended, fewer = request["recommended"], request["fewer_cores"]
    if recommended:
        setting = recommended["setting"] or format_bytes(recommended["memory"])
        peak, asked = format_bytes(request["peak_memory"]), format_bytes(request["memory"])
        return f"{setting} would have been enough, peak {peak} of {asked}"
    if fewer:
        return f"{fewer} of {request['cores']} cores would have been enough"
    return ""
