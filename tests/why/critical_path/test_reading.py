"""A path is found from fewer transitions than the time of threads is."""

from __future__ import annotations

import pytest

from observatory.store.connection import read_connection
from observatory.why.critical_path.path import CriticalPath
from observatory.why.reading import read_accounted, read_for_path, read_graph
from tests.support.recorded_cluster import at
from tests.why.findings.simulated import Death, Simulated, map_reduce

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("first", [0, 8, 10.6])
def test_where_results_were_lost_the_path_is_that_of_all_transitions(first: float) -> None:
    cluster = Simulated(map_reduce(64, 1.0), deaths=[Death(2, 10.4, restarts_after=4)]).record()
    start, stop = (round(at(second).timestamp() * 1e6) for second in (first, 60))
    with read_connection() as connection:
        fewer, graph = read_for_path(connection, cluster.pk, start, stop)
        every = read_accounted(connection, cluster.pk, start, stop)
        expected = CriticalPath(every, read_graph(connection, cluster.pk, every)).pieces()
    assert 0 < len(fewer.transitions) < len(every.transitions)
    assert CriticalPath(fewer, graph).pieces() == expected
