"""Whether a cluster's first tasks may have finished before its event stream was received."""

from __future__ import annotations

import pytest

from observatory.collect.stream.beginning import HANDSHAKE, Beginning

GAP = (100.0, 103.0 + HANDSHAKE)


@pytest.fixture
def beginning() -> Beginning:
    return Beginning(100.0)


def test_a_client_that_the_stream_announces_leaves_nothing_to_tell(beginning: Beginning) -> None:
    beginning.add_activity(0)
    beginning.stream_opened(103.0)
    beginning.client_announced()
    beginning.work_announced()
    beginning.add_activity(7)
    beginning.add_activity(7)
    assert beginning.missing() is None


def test_a_client_that_was_there_before_the_stream_is_a_gap_from_the_clusters_start_told_once(
    beginning: Beginning,
) -> None:
    beginning.add_activity(1)
    assert beginning.missing() is None
    beginning.stream_opened(103.0)
    assert beginning.missing() == GAP
    assert beginning.missing() is None


def test_work_of_a_client_that_was_not_announced_is_a_gap(beginning: Beginning) -> None:
    beginning.stream_opened(103.0)
    beginning.work_announced()
    beginning.client_announced()
    assert beginning.missing() == GAP


def test_a_poll_that_precedes_the_announcement_of_its_client_is_no_gap(beginning: Beginning) -> None:
    beginning.stream_opened(103.0)
    beginning.add_activity(1)
    beginning.client_announced()
    beginning.add_activity(1)
    assert beginning.missing() is None


def test_a_cluster_that_ended_before_its_stream_was_received_is_a_gap_until_its_end(
    beginning: Beginning,
) -> None:
    beginning.add_activity(1)
    assert beginning.missing(ended=104.0) == (100.0, 104.0)
