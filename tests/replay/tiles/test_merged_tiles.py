"""Merged tiles in memory: the last ones, up to a number of bytes."""

from observatory.replay.tiles.merged_tiles import MergedTiles


def test_those_that_were_used_last_stay() -> None:
    tiles = MergedTiles(10)
    tiles.put("a", b"1234")
    tiles.put("b", b"1234")
    assert tiles.get("a") == b"1234"
    tiles.put("c", b"1234")
    assert [tiles.get(key) for key in "abc"] == [b"1234", None, b"1234"]


def test_one_that_is_larger_than_all_that_may_be_kept_is_not_kept() -> None:
    tiles = MergedTiles(10)
    tiles.put("a", b"1234")
    tiles.put("b", b"12345678901")
    assert (tiles.get("a"), tiles.get("b")) == (b"1234", None)
