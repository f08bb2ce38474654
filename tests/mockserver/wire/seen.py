"""What came over a socket, read as far as it can be."""

import json
import re
import socket
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

PATIENCE = 10


class Fields(dict[str, str]):
    """Headers by name; one that is not there is empty."""

    def __missing__(self, name: str) -> str:
        return ""


def data_of(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


@dataclass
class Seen:
    """What came over a connection: pieces with their times, and how it ended."""

    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    ended: str = "open"
    method: str = "POST"

    def take(self, connection: socket.socket, now: float, *, waiting: bool) -> None:
        connection.settimeout(PATIENCE if waiting else 0.0)
        try:
            while data := connection.recv(65536):
                self.pieces.append((now, data))
            self.ended = "closed"
        except BlockingIOError:
            pass
        except ConnectionResetError:
            self.ended = "reset"

    @cached_property
    def raw(self) -> bytes:
        return b"".join(data for _, data in self.pieces)

    def at(self, time: float) -> bytes:
        """What had come by a time."""
        return b"".join(data for when, data in self.pieces if when <= time)

    @property
    def status(self) -> int:
        return int(self.raw.split(b" ", 2)[1])

    @property
    def version(self) -> bytes:
        return self.raw[:8]

    @cached_property
    def fields(self) -> list[tuple[str, str]]:
        head = self.raw.partition(b"\r\n\r\n")[0].decode()
        pairs = [line.partition(":") for line in head.split("\r\n")[1:]]
        return [(name, value.strip()) for name, _, value in pairs]

    @cached_property
    def headers(self) -> "Fields":
        return Fields((name.lower(), value) for name, value in self.fields)

    @cached_property
    def _body(self) -> tuple[bytes, list[bytes], bool]:
        """The body, its chunks, and whether it is whole by the rules of HTTP."""
        rest = self.raw.partition(b"\r\n\r\n")[2]
        if self.headers["transfer-encoding"] != "chunked":
            length = self.headers["content-length"]
            return rest, [rest], not length or int(length) == len(rest)
        chunks: list[bytes] = []
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            if int(size, 16) == 0:
                return b"".join(chunks), chunks, rest == b"\r\n"
            chunks.append(rest[: int(size, 16)])
            assert rest[int(size, 16) :].startswith(b"\r\n"), "a torn chunk"
            rest = rest[int(size, 16) + 2 :]
        return b"".join(chunks), chunks, False

    @property
    def body(self) -> bytes:
        return self._body[0]

    @property
    def chunks(self) -> list[bytes]:
        return self._body[1]

    @property
    def whole(self) -> bool:
        """Whether the body is whole; an answer to HEAD has none."""
        return self.method == "HEAD" or self._body[2]

    @property
    def value(self) -> Any:
        """The JSON of the body; an empty object where it is none."""
        return data_of(self.body)

    @property
    def last(self) -> Any:
        """The JSON of the last event, as `value`."""
        return data_of(self.events[-1]["data"]) if self.events else {}

    @cached_property
    def events(self) -> list[dict[str, str]]:
        """The events of the body, as WHATWG HTML, section 9.2.6 reads them."""
        text = self.body.decode("utf-8").removeprefix("\ufeff")
        events: list[dict[str, str]] = []
        event: dict[str, str] = {}
        data: list[str] = []
        for line in re.split("\r\n|\n|\r", text)[:-1]:
            if not line:
                if data:
                    events.append({**event, "data": "\n".join(data)})
                event, data = {}, []
                continue
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                data.append(value)
            elif name:
                event[name] = value
        return events

    @property
    def values(self) -> list[Any]:
        """The JSON of the events; `[DONE]` and what is no JSON as texts."""
        found = []
        for event in self.events:
            try:
                found.append(json.loads(event["data"]))
            except ValueError:
                found.append(event["data"])
        return found

    @property
    def completions(self) -> list[dict[str, Any]]:
        """Every chunk of a stream, or the whole answer alone."""
        is_stream = self.headers["content-type"].startswith("text/event-stream")
        values = self.values if is_stream else [self.value]
        return [v for v in values if isinstance(v, dict) and "choices" in v]

    @property
    def choices(self) -> list[dict[str, Any]]:
        return [choice for value in self.completions for choice in value["choices"]]

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [
            call
            for choice in self.choices
            for call in (choice.get("delta") or choice.get("message") or {}).get("tool_calls", ())
        ]

    @property
    def text(self) -> str:
        """All words of the first choice."""
        parts = [
            (c.get("delta") or c.get("message") or c).get("content") or c.get("text") or ""
            for c in self.choices
            if c["index"] == 0
        ]
        return "".join(parts)

    @property
    def arguments(self) -> list[str]:
        """The arguments of each tool call, assembled."""
        joined: dict[int, str] = {}
        for at, call in enumerate(self.calls):
            index = call.get("index", at)
            joined[index] = joined.get(index, "") + call["function"]["arguments"]
        return list(joined.values())

    @property
    def usage(self) -> dict[str, Any]:
        return next(v["usage"] for v in reversed(self.completions) if "usage" in v)
