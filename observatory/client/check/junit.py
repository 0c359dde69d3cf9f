"""Checks as JUnit XML, which CI systems show as tests: a suite for each run, a case for each criterion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from observatory.client.check.texts import TITLES, Item, line, lines


def write_junit(checks: Sequence[Item], path: Path) -> None:
    """Writes a file. What can't be told is a skipped case with the reason. Raises OSError."""
    document = JUnitXml("dask-observatory check")
    for check in checks:
        document.add_testsuite(_suite(check))
    document.write(str(path), pretty=True)


def _suite(check: Item) -> TestSuite:
    name = line(check["run"]["name"])
    suite = TestSuite(name)
    for criterion in check["criteria"]:
        case = TestCase(TITLES[criterion["name"]], classname=name)
        sentence = line(criterion["sentence"])
        if criterion["name"] == "duration":
            case.time = float(check["run"]["seconds"])
        if criterion["verdict"] == "worse":
            failure = Failure(sentence, criterion["name"])
            if criterion["name"] == "outcome" and check.get("raised"):
                failure.text = lines(check["raised"]["traceback"])
            case.result = [failure]
        elif criterion["verdict"] != "fine":
            case.result = [Skipped(sentence)]
        else:
            case.system_out = sentence
        suite.add_testcase(case)
    return suite
