from __future__ import annotations

import threading

from observatory.agent.delivery.buffer import Buffer


def transition(number: int) -> tuple[object, ...]:
    return (float(number), "key", "waiting", "processing", "", "")


def test_rows_are_taken_once_and_in_order() -> None:
    buffer = Buffer()
    append = buffer.appender("transition")
    for number in range(5):
        append(transition(number))
    assert buffer.drain() == {"transition": [transition(number) for number in range(5)]}
    assert buffer.drain() == {}


def test_an_appender_stays_valid_after_the_buffer_was_drained() -> None:
    buffer = Buffer()
    append = buffer.appender("span")
    append(("a",))
    buffer.drain()
    append(("b",))
    assert buffer.drain() == {"span": [("b",)]}


def test_no_row_is_lost_or_taken_twice_while_another_thread_appends() -> None:
    buffer = Buffer()
    append = buffer.appender("transition")
    numbers = 300_000

    def append_all() -> None:
        for number in range(numbers):
            append((number,))

    thread = threading.Thread(target=append_all)
    thread.start()
    taken: list[tuple[object, ...]] = []
    while thread.is_alive() or len(buffer):
        taken += buffer.drain().get("transition", [])
    thread.join()
    assert taken == [(number,) for number in range(numbers)]


def test_over_the_limit_the_oldest_rows_of_the_least_important_kinds_are_removed() -> None:
    buffer = Buffer(limit=10)
    for number in range(6):
        buffer.appender("sample")((float(number), 1.0, "series"))
        buffer.appender("transition")(transition(number))
        buffer.appender("error")((float(number),))
    trimmed = buffer.trim()
    assert [row[0] for row in trimmed["sample"]] == [0, 1, 2, 3, 4, 5]
    assert [row[0] for row in trimmed["transition"]] == [0, 1]
    assert "error" not in trimmed
    assert len(buffer) == 10
    assert buffer.trim() == {}
