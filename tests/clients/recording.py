"""A transport for httpx (and httpx2) that notes what really goes over the wire."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any


@dataclass
class Exchange:
    """One request as sent and one response as received; the body grows while it is read."""

    method: str
    path: str
    request_headers: dict[str, str]
    request_body: bytes
    status: int
    headers: dict[str, str]
    body: bytearray = field(default_factory=bytearray)

    @property
    def json(self) -> Any:
        """The body of a whole answer."""
        return json.loads(self.body)

    @property
    def events(self) -> list[str]:
        """The data of each event of a streamed answer, `[DONE]` included."""
        text = self.body.decode()
        assert text.endswith("\n\n")
        lines = text.removesuffix("\n\n").split("\n\n")
        assert all(line.startswith("data: ") and "\n" not in line for line in lines)
        return [line.removeprefix("data: ") for line in lines]

    @property
    def chunks(self) -> list[Any]:
        """The JSON of each event of a streamed answer that ended as it should."""
        *data, done = self.events
        assert done == "[DONE]"
        return [json.loads(text) for text in data]


# What a test may do to a request's body and headers before it is sent.
Encoding = Callable[[bytes, dict[str, str]], bytes]


def transport(
    httpx: ModuleType, exchanges: list[Exchange], *, is_async: bool, encoding: Encoding | None
) -> Any:
    """Make a transport of the module `httpx` (or `httpx2`) that appends to `exchanges`."""

    def encoded(request: Any) -> Any:
        if encoding is None or not request.content:
            return request
        headers = dict(request.headers)
        del headers["content-length"]
        content = encoding(request.content, headers)
        return httpx.Request(
            request.method,
            request.url,
            headers=headers,
            content=content,
            extensions=request.extensions,
        )

    def note(request: Any, response: Any) -> bytearray:
        exchange = Exchange(
            request.method,
            request.url.raw_path.decode(),
            dict(request.headers),
            request.content,
            response.status_code,
            dict(response.headers),
        )
        exchanges.append(exchange)
        return exchange.body

    class Tee(httpx.SyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, stream: Any, body: bytearray) -> None:
            self.stream, self.body = stream, body

        def __iter__(self) -> Iterator[bytes]:
            for part in self.stream:
                self.body.extend(part)
                yield part

        def close(self) -> None:
            self.stream.close()

    class AsyncTee(httpx.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, stream: Any, body: bytearray) -> None:
            self.stream, self.body = stream, body

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self.stream:
                self.body.extend(part)
                yield part

        async def aclose(self) -> None:
            await self.stream.aclose()

    class Transport(httpx.HTTPTransport):  # type: ignore[misc, name-defined]
        def handle_request(self, request: Any) -> Any:
            request = encoded(request)
            response = super().handle_request(request)
            response.stream = Tee(response.stream, note(request, response))
            return response

    class AsyncTransport(httpx.AsyncHTTPTransport):  # type: ignore[misc, name-defined]
        async def handle_async_request(self, request: Any) -> Any:
            request = encoded(request)
            response = await super().handle_async_request(request)
            response.stream = AsyncTee(response.stream, note(request, response))
            return response

    return AsyncTransport() if is_async else Transport()
