"""How much of an answer came, however it was cut in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("httpcore2", reason="the extra `net` is not installed")
from gsym.net.connections import AnswerLength

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"


@given(
    st.sampled_from([b"", INTERIM, INTERIM * 2]),
    st.binary(max_size=40),
    st.integers(1, 60),
)
def test_bytes_behind_the_head_are_counted(
    before: bytes, body: bytes, size: int
) -> None:
    data = before + HEAD + body
    length = AnswerLength()
    for start in range(0, len(data), size):
        length.count(data[start : start + size])
    assert length.body == len(body)
    assert length.is_more_than("5") == (len(body) > 5)


@pytest.mark.parametrize("claimed", ["", "-1", "x", "5, 5"])
def test_answer_without_a_length_is_not_compared(claimed: str) -> None:
    length = AnswerLength()
    length.count(HEAD + b"123456")
    assert not length.is_more_than(claimed)


def test_a_head_that_does_not_end_takes_no_memory() -> None:
    length = AnswerLength()
    for _ in range(100):
        length.count(bytes(1 << 16))
    assert length.body is None
    assert not length.is_more_than("0")
