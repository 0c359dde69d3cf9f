from __future__ import annotations

import pytest

from observatory.clusters.models import Cluster
from observatory.runs.discovery.naming import name_of
from observatory.runs.models import Run
from observatory.runs.tasks import find_runs
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from tests.runs.conftest import Work


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("# /home/ada/etl.py\ndef load(path):\n    return read(path)", "load in etl.py"),
        ("# /home/ada/etl.py\nimport dask\n\nclient = Client()\n", "etl.py"),
        ("# C:\\jobs\\etl.py\nimport dask", "etl.py"),
        (
            "# /tmp/ipykernel_41/3.py\n# the sum\nimport dask\ndf.groupby('x').sum().compute()",
            "df.groupby('x').sum().compute()",
        ),
        ("# <stdin>\ntotal.compute()", "total.compute()"),
        ("# a comment\nx.compute()", "x.compute()"),
        ("import dask", "inc, sum and 3 more"),
        ("", "inc, sum and 3 more"),
        ("# /a.py\n\n\n# /b.py\ndef f(): ...", "a.py"),
        ("<img src=x onerror=alert(1)>\x00" + "x" * 1000, "<img src=x onerror=alert(1)>�" + "x" * 170 + "…"),
    ],
)
def test_a_run_is_named_after_its_code_and_else_after_its_main_prefixes(code: str, name: str) -> None:
    assert name_of(code, ["inc", "sum", "mean"], 5) == name


def test_few_prefixes_are_all_named() -> None:
    assert name_of("", ["inc"], 1) == "inc"
    assert name_of("", ["inc", "sum"], 2) == "inc and sum"
    assert name_of("", [], 0) == "run"


def test_the_code_is_that_of_the_computation_that_was_submitted_before_the_first_task(
    cluster: Cluster, writer: Writer, work: Work, now: float
) -> None:
    answer = [
        (now - 600, "0", "client", "# /long_ago.py\nx", [], {}, []),
        (now - 2, "1", "client", "# /etl.py\nx", [], {}, []),
        (now + 3, "2", "client", "# /later.py\nx", [], {}, []),
    ]
    writer.write(Batch.of(cluster.pk, rows={"computation": answer}))
    work(now, now + 5)
    find_runs()
    assert Run.objects.get().name == "etl.py"
