from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from pixivflow.client.sse import MAX_LINE, Message, Parser, TooLong

STREAM = (
    b"\xef\xbb\xbfretry: 3000\n\n"
    b": a comment\n"
    b'id: evt-1-1\nevent: job.accepted\ndata: {"a":1}\n\n'
    b"data:one\r\ndata: two\r\n\r\n"
    b"id: evt-1-2\n\n"
    b"event: dropped\n\n"
    b"data\n\n"
    b"id: with\x00nul\ndata: x\rdata: y\r\r"
    b"retry: soon\nunknown: field\ndata:  \xe7\x8c\xab\n\n"
    b"data: never finished\n"
)
MESSAGES = [
    Message("job.accepted", '{"a":1}', "evt-1-1"),
    Message("message", "one\ntwo", "evt-1-1"),
    Message("message", "", "evt-1-2"),
    Message("message", "x\ny", "evt-1-2"),
    Message("message", " \N{CJK UNIFIED IDEOGRAPH-732B}", "evt-1-2"),
]


def read(pieces: list[bytes]) -> tuple[list[Message], Parser]:
    parser = Parser()
    return [message for piece in pieces for message in parser.feed(piece)], parser


def test_a_stream_is_read_as_the_standard_says() -> None:
    messages, parser = read([STREAM])
    assert messages == MESSAGES
    assert parser.last_id == "evt-1-2"
    assert parser.retry_ms == 3000


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_it_does_not_matter_how_the_stream_is_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    messages, parser = read([STREAM[a:b] for a, b in itertools.pairwise(edges)])
    assert messages == MESSAGES
    assert parser.last_id == "evt-1-2"


@given(st.binary(max_size=300))
def test_no_bytes_can_break_it(raw: bytes) -> None:
    whole, _ = read([raw + b"\n\n"])
    single, _ = read([bytes([byte]) for byte in raw + b"\n\n"])
    assert whole == single


def test_an_id_without_data_moves_the_place_and_tells_nothing() -> None:
    messages, parser = read([b"id: evt-1-7\n\n"])
    assert messages == []
    assert parser.last_id == "evt-1-7"


def test_an_unfinished_message_is_no_place() -> None:
    parser = Parser("evt-1-1")
    assert parser.feed(b"id: evt-1-2\ndata: x\n") == []
    assert parser.last_id == "evt-1-1"


def test_a_line_without_end_is_given_up() -> None:
    parser = Parser()
    try:
        for _ in range(MAX_LINE // 2**20 + 1):
            parser.feed(b"x" * 2**20)
    except TooLong:
        return
    raise AssertionError("it went on for ever")


def test_a_message_without_end_is_given_up() -> None:
    parser = Parser()
    line = b"data: " + b"x" * 2**20 + b"\n"
    try:
        for _ in range(MAX_LINE // 2**20 + 1):
            parser.feed(line)
    except TooLong:
        return
    raise AssertionError("it went on for ever")
