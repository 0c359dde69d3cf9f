"""The tags that a run has in a job of CI."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from observatory.agent.runs import _tags
from observatory.wire.client_code.ci import ci_tags

GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_REF_TYPE": "branch",
    "GITHUB_REF_NAME": "main",
    "GITHUB_SHA": "3f2a1c",
    "GITHUB_RUN_ID": "17",
    "GITHUB_RUN_ATTEMPT": "2",
}
GITLAB = {"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "main", "CI_COMMIT_SHA": "3f2a1c", "CI_JOB_ID": "9"}


@pytest.mark.parametrize(
    ("environ", "tags"),
    [
        ({}, {}),
        ({"GITHUB_REF_NAME": "main"}, {}),
        (GITHUB, {"branch": "main", "git": "3f2a1c", "ci": "github 17.2"}),
        (GITLAB, {"branch": "main", "git": "3f2a1c", "ci": "gitlab 9"}),
    ],
)
def test_a_job_of_ci_has_a_branch_a_commit_and_a_number(
    environ: Mapping[str, str], tags: Mapping[str, str]
) -> None:
    assert ci_tags(environ) == tags


@pytest.mark.parametrize(
    ("environ", "branch"),
    [
        # a pull request of a fork, whose own branch is main as well
        ({**GITHUB, "GITHUB_REF_NAME": "12/merge", "GITHUB_HEAD_REF": "main"}, "12/merge"),
        ({**GITHUB, "GITHUB_REF_TYPE": "tag", "GITHUB_REF_NAME": "main"}, None),
        ({**GITLAB, "CI_COMMIT_BRANCH": "", "CI_COMMIT_REF_NAME": "main"}, None),
    ],
)
def test_what_is_not_pushed_to_a_branch_is_not_of_it(environ: Mapping[str, str], branch: str | None) -> None:
    assert ci_tags(environ).get("branch") == branch


def test_tags_that_are_given_win(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in GITHUB.items():
        monkeypatch.setenv(name, value)
    assert _tags({"branch": "mine", "size": 3}) == {
        "branch": "mine", "size": "3", "git": "3f2a1c", "ci": "github 17.2",
    }  # fmt: skip
    assert _tags({f"tag {number}": "x" for number in range(60)})["tag 0"] == "x"
