"""The tags of a run that a job of GitHub Actions or GitLab CI opens: its branch, commit and job."""

from __future__ import annotations

from collections.abc import Mapping

BRANCH, COMMIT, JOB = "branch", "git", "ci"


def ci_tags(environ: Mapping[str, str]) -> dict[str, str]:
    """The tags by name; {} outside of CI.

    Jobs of merge requests and of version tags have no branch of their own: that of a fork can be called
    main as well. A pull request's is its number and `/merge`, as GitHub names it.
    """
    if environ.get("GITHUB_ACTIONS") == "true":
        is_branch = environ.get("GITHUB_REF_TYPE") == "branch"
        run, attempt = environ.get("GITHUB_RUN_ID", ""), environ.get("GITHUB_RUN_ATTEMPT", "1")
        found = {
            BRANCH: environ.get("GITHUB_REF_NAME", "") if is_branch else "",
            COMMIT: environ.get("GITHUB_SHA", ""),
            JOB: f"github {run}.{attempt}" if run else "",
        }
    elif environ.get("GITLAB_CI") == "true":
        job = environ.get("CI_JOB_ID", "")
        found = {
            BRANCH: environ.get("CI_COMMIT_BRANCH", ""),
            COMMIT: environ.get("CI_COMMIT_SHA", ""),
            JOB: f"gitlab {job}" if job else "",
        }
    else:
        found = {}
    return {name: value for name, value in found.items() if value}
