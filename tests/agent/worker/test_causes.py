from __future__ import annotations

from observatory.agent.worker.failures.causes import LONGEST, describe_causes


def chained(length: int) -> BaseException:
    error: BaseException = ValueError("link 0")
    for number in range(1, length):
        following = ValueError(f"link {number} " + "x" * 1_000)
        following.__cause__ = error
        error = following
    return error


def test_a_short_chain_is_whole() -> None:
    described = describe_causes(chained(6))
    assert [f"ValueError: link {number}" in described for number in range(6)] == [True] * 5 + [False]


def test_a_long_chain_is_bounded_and_keeps_where_it_began_and_how_it_ended() -> None:
    described = describe_causes(chained(300))
    assert "ValueError: link 0\n" in described
    assert "[279 exceptions of the chain are left out]" in described
    assert described.count("direct cause") == 20
    assert len(described) < LONGEST + 20 * 100


def test_a_chain_that_leads_back_to_itself_ends() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__context__, second.__context__ = second, first
    assert describe_causes(first).count("ValueError: second") == 1
