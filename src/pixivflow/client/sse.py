"""Reading Server-Sent Events as the HTML standard describes them. Pure: bytes in, messages out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_LINE: Final = 16 * 1024 * 1024
"""Bytes of a line, and of a message, that are kept at most."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `id` is the last id the stream has named, by this message or before it."""

    event: str
    data: str
    id: str


class TooLong(ValueError):
    """The stream holds a line or a message that nobody of good will sends."""


class Parser:
    """Cuts a stream into messages, however it is cut into pieces.

    Attributes:
        last_id: where to go on from; also moved by an id that comes without data.
        retry_ms: how long the server asks to wait before coming back, None when it did not say.
    """

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self.retry_ms: int | None = None
        self._id = last_id
        self._event = ""
        self._data: list[str] = []
        self._size = 0
        self._rest = b""
        self._begun = False

    def feed(self, piece: bytes) -> list[Message]:
        """The messages that end in this piece."""
        buffer = self._rest + piece
        messages: list[Message] = []
        start = 0
        while True:
            found = _line_end(buffer, start)
            if found is None:
                break
            end, following = found
            message = self._line(buffer[start:end])
            if message is not None:
                messages.append(message)
            start = following
        self._rest = buffer[start:]
        if len(self._rest) > MAX_LINE:
            raise TooLong("a line of the event stream is too long")
        return messages

    def _line(self, raw: bytes) -> Message | None:
        line = raw.decode("utf-8", errors="replace")
        if not self._begun:
            self._begun = True
            line = line.removeprefix("\ufeff")
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._size += len(value)
            if self._size > MAX_LINE:
                raise TooLong("a message of the event stream is too long")
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit() and len(value) <= 9:
            self.retry_ms = int(value)
        return None

    def _dispatch(self) -> Message | None:
        data, event = self._data, self._event
        self._data, self._event, self._size = [], "", 0
        self.last_id = self._id
        return Message(event or "message", "\n".join(data), self._id) if data else None


def _line_end(buffer: bytes, start: int) -> tuple[int, int] | None:
    """Where the line ends and the next one begins. None while that cannot be said: a CR may be half of a CRLF."""
    lf = buffer.find(b"\n", start)
    cr = buffer.find(b"\r", start, lf if lf >= 0 else len(buffer))
    if cr >= 0:
        if cr + 1 == len(buffer):
            return None
        return cr, cr + 2 if buffer[cr + 1] == 0x0A else cr + 1
    return (lf, lf + 1) if lf >= 0 else None
