"""Keys of any type: an agent names them as the scheduler does, in all kinds of records."""

from __future__ import annotations

from collections.abc import Iterator

from distributed import Client

from observatory.store.ingest.batches.reading_blocks import records_of_block
from observatory.store.texts import clean_name
from observatory.wire.batches import decode_batch
from observatory.wire.records import clean_key
from tests.agent.eventually import eventually
from tests.agent.fake_server import FakeServer
from tests.support import odd_keys


def named(received: FakeServer, kind: str, column: str) -> Iterator[tuple[str, str, str]]:
    """(text, prefix, group) of the keys in a column of all batches, as the server stores them."""
    for body in received.bodies:
        block = decode_batch(body)[1].get(kind)
        if block is not None:
            keys = records_of_block(block)[0].keys(column)
            for code in keys.codes:
                prefix, group = keys.names.values[keys.names.codes[code]]
                yield keys.values[code], clean_name(prefix), clean_name(group)


def test_each_kind_of_record_names_keys_of_any_type_as_the_scheduler_does(
    client: Client, received: FakeServer
) -> None:
    names = odd_keys.compute(client)
    expected = {
        (clean_key(str(key)), clean_name(clean_key(prefix)), clean_name(clean_key(group)))
        for key, (prefix, group, *_) in names.items()
    }
    eventually(
        lambda: sum(row["finish"] in ("memory", "erred") for row in received.rows["transition"]) >= len(names)
    )
    eventually(lambda: len(received.rows["error"]) == len(odd_keys.ERRED))
    erred = {clean_key(str(key)) for key in odd_keys.ERRED}
    assert {*named(received, "transition", "key")} == expected
    assert {*named(received, "task", "key")} == expected
    assert {*named(received, "span", "key")} == expected
    assert {name for name in expected if name[0] in erred} == {*named(received, "error", "key")}
    needed = {name for name in expected if name[0] not in {*erred, str(odd_keys.NEEDS)}}
    assert {*named(received, "dependency", "depends_on")} == needed
    assert {text for text, *_ in named(received, "dependency", "key")} == {str(odd_keys.NEEDS)}
    groups = {(prefix, group) for _, prefix, group in named(received, "group_dependency", "depends_on")}
    by_keys = {(prefix, group) for _, prefix, group in needed}
    # the store prefers the prefix of the key, where it has both
    assert groups - by_keys == {("sum-of-texts", "sum-of-texts")}
    assert by_keys - groups == {("sum-of", "sum-of-texts")}
