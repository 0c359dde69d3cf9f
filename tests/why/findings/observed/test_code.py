"""The code in which tasks were seen."""

from __future__ import annotations

from observatory.why.findings.observed.code import places

CALLS = (
    "apply_function_simple\t/env/site-packages/distributed/worker.py\t3074\n"
    "__call__\t/env/site-packages/dask/_task_spec.py\t759"
)


def test_of_a_library_the_users_line_that_called_it_is_named() -> None:
    stack = f"{CALLS}\nload\t/jobs/etl.py\t7\nread\t/env/site-packages/io.py\t9"
    assert places([(stack, 3)], str) == ["read (/env/site-packages/io.py:9), called by load (/jobs/etl.py:7)"]


def test_functions_that_are_not_written_in_python_have_no_place() -> None:
    """The innermost frame is Dask's, which called `time.sleep`."""
    assert places([(CALLS, 3)], str) == []


def test_dasks_own_code_in_an_event_loop_has_a_place() -> None:
    stack = "handle_stream\t/env/site-packages/distributed/worker.py\t12"
    assert places([(stack, 3)], str) == ["handle_stream (/env/site-packages/distributed/worker.py:12)"]
