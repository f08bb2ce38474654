"""A load generator: raw sockets, keep-alive, a given number of requests. Prints one JSON object.

    python benchmarks/load.py PORT --requests 4000 --connections 16 [--stream] [--distinct WORD]

It does as little as it can with an answer (status, and where it ends), so that it is not what is
measured. No pipelining: each connection sends its next request when it has its whole answer.
"""

import argparse
import asyncio
import json
import re
from collections.abc import Iterator
from time import perf_counter

from servers import HEADERS, PATH, request

LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
HEAD_END = b"\r\n\r\n"
LAST_CHUNK = b"\r\n0\r\n\r\n"


def requests(count: int, *, stream: bool, distinct: str | None) -> Iterator[bytes]:
    """The bytes of each request; distinct ones ask another question each.

    The word `distinct` is in each question: with another word, nothing is asked a second time.
    """
    same = _request("Hello!", stream)
    for number in range(count):
        yield _request(f"Which {distinct} is number {number}?", stream) if distinct else same


def _request(content: str, stream: bool) -> bytes:
    body = json.dumps(request(content, stream=stream)).encode()
    headers = {"host": "127.0.0.1", **HEADERS, "content-length": str(len(body))}
    lines = [f"POST {PATH} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Connection(asyncio.Protocol):
    """Sends requests one after the other until there are none left."""

    def __init__(self, waiting: Iterator[bytes], times: list[float]) -> None:
        self.waiting = waiting
        self.times = times
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.send()

    def send(self) -> None:
        message = next(self.waiting, None)
        if message is None:
            self.done.set_result(None)
            self.transport.close()
            return
        self.received.clear()
        self.sent = perf_counter()
        self.transport.write(message)

    def data_received(self, data: bytes) -> None:
        self.received += data
        if not self.complete():
            return
        if not self.received.startswith(b"HTTP/1.1 200 "):
            self.fail(bytes(self.received[:300]).decode(errors="replace"))
            return
        self.times.append(perf_counter() - self.sent)
        self.send()

    def complete(self) -> bool:
        end = self.received.find(HEAD_END)
        if end < 0:
            return False
        length = LENGTH.search(self.received, 0, end)
        if length is None:
            return self.received.endswith(LAST_CHUNK)
        return len(self.received) - end - len(HEAD_END) >= int(length[1])

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.fail(f"the connection was closed: {exc}")

    def fail(self, reason: str) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(reason))
        self.transport.close()


async def load(port: int, connections: int, waiting: Iterator[bytes]) -> dict[str, float]:
    """Send all that is waiting; return the seconds it took, and answer times in milliseconds."""
    loop = asyncio.get_running_loop()
    times: list[float] = []
    start = perf_counter()
    made = [
        (await loop.create_connection(lambda: Connection(waiting, times), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    await asyncio.gather(*(connection.done for connection in made))
    seconds = perf_counter() - start
    times.sort()
    return {
        "requests": len(times),
        "seconds": seconds,
        "median": times[len(times) // 2] * 1000,
        "p99": times[len(times) * 99 // 100] * 1000,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Load for one server.")
    parser.add_argument("port", type=int)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--distinct", metavar="WORD")
    given = parser.parse_args()
    waiting = requests(given.requests, stream=given.stream, distinct=given.distinct)
    print(json.dumps(asyncio.run(load(given.port, given.connections, waiting))))


if __name__ == "__main__":
    main()
