"""Lines on the pipe: however they are cut, and whatever stands between them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placetui.bridge.messages import LineDecoder, Malformed, Message, ProtocolError, decode, encode

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
messages = st.builds(
    Message, st.text(max_size=8), st.dictionaries(st.text(max_size=5).filter(lambda key: key != "type"), values)
)
garbage = st.sampled_from(
    [b"oops", b"[1]", b"{}", b'{"type": 3}', b'{"type": "x", "y": NaN}', b"\xff\xfe", b"[" * 9999]
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@settings(max_examples=50)
@given(st.lists(messages, max_size=5), st.lists(st.integers(0, 10_000), max_size=8))
def test_messages_arrive_whole_however_the_bytes_are_cut(sent: list[Message], places: list[int]) -> None:
    decoder = LineDecoder()
    pieces = cut(b"".join(encode(message) for message in sent), places)
    assert [message for piece in pieces for message in decoder.feed(piece)] == sent


@settings(max_examples=50)
@given(messages, garbage, messages)
def test_garbage_is_reported_and_what_follows_is_read(first: Message, noise: bytes, second: Message) -> None:
    got = list(LineDecoder().feed(encode(first) + noise + b"\n" + encode(second)))
    assert [got[0], got[2]] == [first, second]
    assert isinstance(got[1], Malformed)
    assert len(got[1].reason) < 300


def test_a_line_above_the_limit_is_not_kept_and_what_follows_is_read() -> None:
    decoder = LineDecoder(limit=100)
    got = [message for _ in range(50) for message in decoder.feed(b"x" * 90)]
    assert got == []
    assert sum(len(piece) for piece in decoder._pieces) <= 100
    report, message = decoder.feed(b"\n" + encode(Message("hello")))
    assert report == Malformed("a line of 4500 bytes, the most is 100")
    assert message == Message("hello")


def test_empty_lines_mean_nothing() -> None:
    assert list(LineDecoder().feed(b"\n  \r\n\n")) == []


def test_a_message_is_one_line_also_with_line_ends_and_odd_characters_in_it() -> None:
    line = encode(Message("status", {"message": "a\nb\u2028\ud800"}))
    assert line.count(b"\n") == 1
    assert json.loads(line)["message"] == "a\nb\u2028\ud800"


def test_what_has_no_json_is_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(Message("observation", {"time": float("nan")}))


@pytest.mark.parametrize("value", [True, "1", None, 1.0])
def test_a_number_is_a_number(value: Any) -> None:
    with pytest.raises(ProtocolError, match="id is"):
        Message("start", {"id": value}).read("id", int)


def test_values_are_read_by_type() -> None:
    message = decode(b'{"type": "reply", "id": 3, "last": true}')
    assert isinstance(message, Message)
    assert message.read("id", int) == 3
    assert message.read("last", bool) is True
