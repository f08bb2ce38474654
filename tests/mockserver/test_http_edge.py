"""The edge in bytes: broken, slow, hasty and odd HTTP against a real server.

Every answer is read from the socket as it came, with a bound on waiting: a hang is a failure. The
server's fixture fails a test when anything was said on standard error.
"""

import gzip
import json
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

PATIENCE = 30
LIMIT = 100_000
GOOD = json.dumps({"model": "m", "prompt": "good"}).encode()


@dataclass(frozen=True)
class Got:
    """An answer as it came over the wire."""

    version: str
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value


class Wire:
    """A connection, byte by byte."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port), PATIENCE)
        self._file = self.socket.makefile("rb")

    def send(self, *parts: bytes) -> "Wire":
        self.socket.sendall(b"".join(parts))
        return self

    def read(self, method: str = "POST") -> Got:
        """Read one answer, however it is framed."""
        line = self._file.readline()
        assert line.endswith(b"\r\n"), f"no status line but {line!r}"
        version, status, *_ = line.decode().split(" ", 2)
        headers: dict[str, str] = {}
        while (line := self._file.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode().partition(":")
            assert name.lower() not in headers, f"{name} stands twice"
            headers[name.lower()] = value.strip()
        body = b"" if method == "HEAD" or status in ("204", "304") else self._body(headers)
        return Got(version, int(status), headers, body)

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") == "chunked":
            parts = []
            while size := int(self._file.readline(), 16):
                parts.append(self._file.read(size))
                assert self._file.readline() == b"\r\n"
            assert self._file.readline() == b"\r\n"
            return b"".join(parts)
        if "content-length" in headers:
            return self._file.read(int(headers["content-length"]))
        return self._file.read()

    def read_line(self) -> bytes:
        return self._file.readline()

    def ended(self) -> bool:
        """Say whether the server has closed, with nothing more said."""
        try:
            return self._file.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self._file.close()
        self.socket.close()

    def reset(self) -> None:
        """Hang up at once, with an RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()


def request(
    method: str = "POST",
    target: str = "/v1/completions",
    body: bytes | None = GOOD,
    version: str = "1.1",
    **fields: str | None,
) -> bytes:
    """Write a request; a field given as None is left out."""
    headers: dict[str, str | None] = {
        "Host": "localhost",
        "Authorization": "Bearer key",
        "Content-Type": None if body is None else "application/json",
        "Content-Length": None if body is None else str(len(body)),
        **{name.replace("_", "-"): value for name, value in fields.items()},
    }
    lines = [f"{method} {target} HTTP/{version}"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


def chunked(body: bytes, size: int = 1000, extension: bytes = b"") -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x%s\r\n%s\r\n" % (len(p), extension, p) for p in (*parts, b""))


@pytest.fixture(scope="module")
def address(serving: Any) -> Iterator[tuple[str, int]]:
    with serving("--max-body", str(LIMIT), "--api-key", "key") as served:
        parts = urlsplit(served.url)
        yield parts.hostname, parts.port


@pytest.fixture
def wire(address: tuple[str, int]) -> Iterator[Wire]:
    with closing(Wire(*address)) as wire:
        yield wire


@pytest.fixture
def usable(wire: Wire) -> Iterator[Wire]:
    """A connection that must still answer a good request when the test is over."""
    yield wire
    got = wire.send(request()).read()
    assert got.status == 200
    assert got.error["object"] == "text_completion"


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("status", "sent"),
    [
        (422, request(body=b"{")),
        (422, request(body=b"\xff\xfe{\x00")),
        (422, request(body=b"")),
        (422, request(body=None)),
        (422, request(body=b"null")),
        (422, request(body=b"[" * 50_000)),
        (422, request(body=b'{"model":"m","prompt":1e999}')),
        (400, request(body=b"\xc1", Content_Type="application/msgpack")),
        (400, request(body=b"\x81", Content_Type="application/vnd.msgpack")),
        (400, request(body=b"{}", Content_Encoding="gzip")),
        (400, request(body=gzip.compress(GOOD)[:-4], Content_Encoding="gzip")),
        (400, request(body=gzip.compress(GOOD) + b"x", Content_Encoding="gzip")),
        (415, request(body=GOOD, Content_Encoding="br")),
        (415, request(body=GOOD, Content_Encoding="deflate")),
        (415, request(body=GOOD, Content_Type="text/plain")),
        (415, request(body=GOOD, Content_Type="application/x-www-form-urlencoded")),
        (415, request(body=GOOD, Content_Type="application/json; charset=utf-16")),
        (415, request(body=GOOD, Content_Type="\xff\xfe")),
        (401, request(Authorization=None)),
        (401, request(Authorization="")),
        (401, request(Authorization="Bearer")),
        (401, request(Authorization="Bearer other")),
        (401, request(Authorization="Bearer key key")),
        (401, request(Authorization="Basic a2V5")),
        (401, request(Authorization="key")),
        (401, request(Authorization="\xe9\xff")),
        (404, request(target="/v1/completion")),
        (404, request(target="/")),
        (404, request(target="/v1/completions/")),
        (404, request(target="//v1/completions")),
        (404, request(target="/v1//completions")),
        (404, request(target="/v1/../v1/completions")),
        (404, request(target="/%00%ff%")),
        (405, request("PUT")),
        (405, request("DELETE", body=None)),
        (405, request("GET", body=None)),
        (405, request("OPTIONS", body=None)),
        (405, request("PATCH")),
        (413, request(body=b" " * (LIMIT + 1))),
        (413, request(body=gzip.compress(b" " * (LIMIT + 1)), Content_Encoding="gzip")),
        (413, request(body=gzip.compress(b" " * 10**8), Content_Encoding="gzip")),
        (422, request(X_delay_time="soon")),
        (400, request(Prefer='example="no such"')),
    ],
)
def test_refusals_leave_the_connection_usable(usable: Wire, status: int, sent: bytes) -> None:
    method = sent.split(b" ", 1)[0].decode()
    for _ in range(2):
        got = usable.send(sent).read(method)
        assert got.status == status, got
        assert got.headers["content-type"] == "application/json"
        error = got.error
        assert "detail" in error or {"message", "type", "param", "code"} <= set(error)
        assert got.headers.get("connection") != "close"


def test_405_names_the_methods(usable: Wire) -> None:
    assert usable.send(request("GET", body=None)).read().headers["allow"] == "POST"
    got = usable.send(request("POST", "/v1/models")).read()
    assert (got.status, got.headers["allow"]) == (405, "GET")


def test_401_names_the_scheme(usable: Wire) -> None:
    got = usable.send(request(Authorization=None)).read()
    assert got.headers["www-authenticate"].startswith("Bearer")


def test_415_names_what_is_taken(usable: Wire) -> None:
    got = usable.send(request(Content_Type="text/plain")).read()
    assert "application/json" in got.headers["accept-post"]
    got = usable.send(request(Content_Encoding="br")).read()
    assert got.headers["accept-encoding"] == "gzip"


# ---------------------------------------------------------------------- bodies


def test_a_chunked_body(usable: Wire) -> None:
    head = request(body=None, Content_Type="application/json", Transfer_Encoding="chunked")
    whole = usable.send(request()).read()
    for size in (1, 7, 1000):
        got = usable.send(head, chunked(GOOD, size)).read()
        assert (got.status, got.body) == (200, whole.body)
    got = usable.send(head, chunked(GOOD, 5, b";a=b")).read()
    assert (got.status, got.body) == (200, whole.body)


def test_a_chunked_body_that_is_too_large(usable: Wire) -> None:
    head = request(body=None, Content_Type="application/json", Transfer_Encoding="chunked")
    got = usable.send(head, chunked(b" " * LIMIT * 3, 16_000)).read()
    assert got.status == 413


def test_how_a_body_that_is_too_large_came_names_no_other_request(
    address: tuple[str, int],
) -> None:
    """It is not read to its end, and how much of it is goes by how the network cut it."""
    body = b"x" * LIMIT * 3
    head = request(body=None, Content_Type="application/json", Transfer_Encoding="chunked")
    ids = set()
    for sent in (request(body=body), *(head + chunked(body, size) for size in (999, 7000, 70_000))):
        with closing(Wire(*address)) as wire:
            got = wire.send(sent).read()
        assert got.status == 413
        ids.add(got.headers["x-request-id"])
    assert len(ids) == 1


@pytest.mark.parametrize("stream", [True, False])
def test_a_version_that_has_no_chunks(address: tuple[str, int], stream: bool) -> None:
    """Chunks are of HTTP/1.1 alone; the fixture fails when anything is said on standard error."""
    body = json.dumps({"model": "m", "prompt": "good", "stream": stream}).encode()
    with closing(Wire(*address)) as wire:
        got = wire.send(request(body=body, version="2.0")).read()
    assert got.status == 200
    assert got.body.endswith(b"data: [DONE]\n\n" if stream else b"}")


def test_a_large_body_is_refused_before_it_has_come(address: tuple[str, int]) -> None:
    with closing(Wire(*address)) as wire:
        head = request(body=None, Content_Type="application/json", Content_Length="99999999999")
        assert wire.send(head).read().status == 413


def test_the_largest_body(usable: Wire) -> None:
    body = json.dumps({"model": "m", "prompt": "a"}).encode()
    body += b" " * (LIMIT - len(body))
    assert usable.send(request(body=body)).read().status == 200
    zipped = gzip.compress(body)
    assert usable.send(request(body=zipped, Content_Encoding="gzip")).read().status == 200


def test_expect_100_continue(usable: Wire) -> None:
    head = request(
        body=None,
        Content_Type="application/json",
        Content_Length=str(len(GOOD)),
        Expect="100-continue",
    )
    usable.send(head)
    assert usable.read_line() == b"HTTP/1.1 100 Continue\r\n"
    assert usable.read_line() == b"\r\n"
    assert usable.send(GOOD).read().status == 200


def test_expect_100_continue_of_a_body_that_is_too_large(address: tuple[str, int]) -> None:
    """The client is told at once, and need not send the body: so the connection ends."""
    with closing(Wire(*address)) as wire:
        size = str(LIMIT * 10)
        head = request(body=None, Content_Length=size, Expect="100-continue")
        got = wire.send(head).read()
        assert got.status == 413
        assert got.headers["connection"] == "close"
        assert wire.ended()


def test_an_expectation_that_is_not_known(usable: Wire) -> None:
    assert usable.send(request(Expect="miracles")).read().status in (200, 417)


def test_a_body_where_none_is_wanted(usable: Wire) -> None:
    got = usable.send(request("GET", "/v1/models", b"whatever")).read("GET")
    assert got.status == 200


# ---------------------------------------------------------------------- methods and targets


def test_head(usable: Wire) -> None:
    whole = usable.send(request("GET", "/v1/models", None)).read("GET")
    got = usable.send(request("HEAD", "/v1/models", None)).read("HEAD")
    assert got.status == 200
    assert got.headers["content-length"] == str(len(whole.body))
    got = usable.send(request("HEAD", "/v1/completions", None)).read("HEAD")
    assert (got.status, got.headers["allow"]) == (405, "POST")


def test_options_of_the_server(usable: Wire) -> None:
    assert usable.send(request("OPTIONS", "*", None)).read().status in (200, 204, 404, 405)


def test_connect(address: tuple[str, int]) -> None:
    with closing(Wire(*address)) as wire:
        got = wire.send(request("CONNECT", "example.org:443", None)).read()
        assert 400 <= got.status < 500


def test_unknown_methods(usable: Wire) -> None:
    for method in ("PROPFIND", "SUBSCRIBE"):
        assert usable.send(request(method, body=None)).read().status == 405


@pytest.mark.parametrize(
    "target",
    [
        "/v1/completions?",
        "/v1/completions?a=b&a=c&%ff=%zz",
        "/v1/completions?" + "q" * 4000,
        "/%76%31/c%6Fmpletions",
        "http://localhost/v1/completions",
        "http://example.org:99/v1/completions?x=/y",
        "HTTPS://[::1]:80/v1/completions",
    ],
)
def test_other_spellings_of_a_target(usable: Wire, target: str) -> None:
    whole = usable.send(request()).read()
    got = usable.send(request(target=target)).read()
    assert (got.status, got.body) == (200, whole.body)


def test_a_model_named_in_percents(usable: Wire) -> None:
    got = usable.send(request("GET", "/v1/models/gpt%2doss%2D120b", None)).read("GET")
    assert (got.status, got.error["id"]) == (200, "gpt-oss-120b")
    got = usable.send(request("GET", "/v1/models/a%2Fb%3F%E2%82%AC", None)).read("GET")
    assert (got.status, got.error["id"]) == (200, "a/b?€")


def test_duplicate_fields(usable: Wire) -> None:
    def twice(line: bytes) -> bytes:
        return request().replace(b"Host:", line + b"\r\nHost:", 1)

    assert usable.send(twice(b"Authorization: Bearer key")).read().status == 401
    assert usable.send(twice(b"X-Other: a\r\nX-Other: b")).read().status == 200
    assert usable.send(
        twice(b"Content-Encoding: gzip\r\nContent-Encoding: gzip")
    ).read().status == (415)
    assert usable.send(twice(b"Prefer: code=429\r\nPrefer: code=500")).read().status == 429


def test_field_names_in_any_case(usable: Wire) -> None:
    sent = request().replace(b"Authorization", b"AUTHORIZATION").replace(b"Bearer", b"bEARER")
    assert usable.send(sent).read().status == 200


# ---------------------------------------------------------------------- many requests


def test_pipelined_requests_are_answered_in_order(usable: Wire) -> None:
    sent = [
        request(),
        request("GET", "/v1/models", None),
        request(body=b"{"),
        request("GET", "/nothing", None),
        request(body=json.dumps({"model": "m", "prompt": "x", "stream": True}).encode()),
        request(),
    ]
    usable.send(*sent)
    assert [usable.read().status for _ in sent] == [200, 200, 422, 404, 200, 200]


def test_a_stream_leaves_the_connection_usable(usable: Wire) -> None:
    body = json.dumps({"model": "m", "prompt": "x", "stream": True}).encode()
    got = usable.send(request(body=body)).read()
    assert got.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert got.headers["transfer-encoding"] == "chunked"
    assert got.body.endswith(b"\n\ndata: [DONE]\n\n")


def test_parallel_connections(address: tuple[str, int]) -> None:
    """Two hundred at once: all connected before the first is read."""
    with closing(Wire(*address)) as wire:
        wanted = wire.send(request()).read().body
    wires = [Wire(*address) for _ in range(200)]
    try:
        for wire in wires:
            wire.send(request()[:-10])
        for wire in reversed(wires):
            wire.send(request()[-10:])
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda wire: wire.read(), wires))
    finally:
        for wire in wires:
            wire.close()
    assert {(got.status, got.body) for got in found} == {(200, wanted)}


def test_a_slow_client(usable: Wire) -> None:
    """One byte a packet; and meanwhile the server answers others."""
    usable.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in request():
        usable.send(bytes([byte]))
    assert usable.read().status == 200


def test_others_are_served_while_one_dawdles(usable: Wire, address: tuple[str, int]) -> None:
    with closing(Wire(*address)) as slow:
        slow.send(request()[:-1])
        assert usable.send(request()).read().status == 200
        assert slow.send(request()[-1:]).read().status == 200


# ---------------------------------------------------------------------- versions


def test_http_1_0(address: tuple[str, int]) -> None:
    with closing(Wire(*address)) as wire:
        got = wire.send(request(version="1.0", Host=None)).read()
        assert got.status == 200
        assert "transfer-encoding" not in got.headers
        assert wire.ended()


def test_http_1_0_stream(address: tuple[str, int]) -> None:
    body = json.dumps({"model": "m", "prompt": "x", "stream": True}).encode()
    with closing(Wire(*address)) as wire:
        got = wire.send(request(version="1.0", body=body)).read()
        assert "transfer-encoding" not in got.headers
        assert got.body.endswith(b"data: [DONE]\n\n")
        assert wire.ended()


def test_http_1_0_kept_alive(wire: Wire) -> None:
    for _ in range(2):
        got = wire.send(request(version="1.0", Connection="keep-alive")).read()
        assert got.status == 200


def test_connection_close(wire: Wire) -> None:
    got = wire.send(request(Connection="close")).read()
    assert (got.status, got.headers["connection"]) == (200, "close")
    assert wire.ended()


# ---------------------------------------------------------------------- what is not HTTP


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50) + b"\r\n\r\n",  # TLS
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /v1/models HTTP/9.9\r\n\r\n",
        b"G@T /v1/models HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: a\r\nbad name: b\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
        b"GET /v1/models/\xff\xe9 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /v1/models?\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: a\r\nContent-Type: b\r\nContent-Type: c\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET /v1/models?" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\n" + b"X: y\r\n" * 100_000 + b"\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Length: 5\r\n\r\n0\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcdefgh\r\n0\r\n\r\n",
    ],
)
def test_what_is_not_http(address: tuple[str, int], sent: bytes) -> None:
    """Refused with the catalogue's error and closed; never a 500, never silence without end."""
    with closing(Wire(*address)) as wire:
        try:
            wire.send(sent)
            got = wire.read("GET")
        except (BrokenPipeError, ConnectionResetError):
            pass  # hung up on while still sending
        else:
            assert 400 <= got.status < 500
            assert got.headers["content-type"] == "application/json"
            assert {"message", "type", "param", "code"} <= set(got.error)
            assert got.headers["connection"] == "close"
            assert wire.ended()
    with closing(Wire(*address)) as wire:
        assert wire.send(request()).read().status == 200


@pytest.mark.parametrize(
    "line", [b"GET /v1/models", b"GET  /v1/models  HTTP/1.1", b"\r\nGET / HTTP/1.1"]
)
def test_what_is_nearly_http(address: tuple[str, int], line: bytes) -> None:
    """A server may be lenient with a request line (RFC 9112, sections 2.2 and 3)."""
    with closing(Wire(*address)) as wire:
        assert wire.send(line, b"\r\nHost: a\r\n\r\n").read("GET").status in (400, 401, 404)


def test_bytes_beyond_ascii_in_fields(usable: Wire) -> None:
    """Old, but allowed (RFC 9110, section 5.5: obs-text)."""
    for field in ("Prefer", "User_Agent", "Accept", "X_Other"):
        got = usable.send(request(**{field: "example=\xff\xe9"})).read()
        assert got.status < 500
        json.loads(got.body)


# ---------------------------------------------------------------------- hanging up


@pytest.mark.parametrize("at", [1, 20, 60, len(request()) - 5, len(request())])
@pytest.mark.parametrize("rudely", [False, True])
def test_a_client_that_hangs_up_while_asking(
    address: tuple[str, int], at: int, rudely: bool
) -> None:
    for _ in range(5):
        wire = Wire(*address).send(request()[:at])
        wire.reset() if rudely else wire.close()
    with closing(Wire(*address)) as wire:
        assert wire.send(request()).read().status == 200


@pytest.mark.parametrize("rudely", [False, True])
def test_a_client_that_hangs_up_in_a_chunked_body(address: tuple[str, int], rudely: bool) -> None:
    head = request(body=None, Content_Type="application/json", Transfer_Encoding="chunked")
    for end in (b"", b"5\r\nab", b"5\r\nabcde\r\n"):
        wire = Wire(*address).send(head, end)
        wire.reset() if rudely else wire.close()
    with closing(Wire(*address)) as wire:
        assert wire.send(request()).read().status == 200


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("rudely", [False, True])
def test_a_client_that_hangs_up_while_being_answered(
    address: tuple[str, int], stream: bool, rudely: bool
) -> None:
    body = json.dumps(
        {"model": "m", "prompt": "x", "stream": stream, "n": 16, "min_tokens": 2000}
    ).encode()
    for _ in range(5):
        wire = Wire(*address)
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.send(request(body=body))
        assert wire.read_line() == b"HTTP/1.1 200 OK\r\n"
        wire.reset() if rudely else wire.close()
    with closing(Wire(*address)) as wire:
        assert wire.send(request()).read().status == 200


def test_a_client_that_sends_and_shuts_its_side(address: tuple[str, int]) -> None:
    """A half-closed connection has its answer coming, or none, but is no fault."""
    with closing(Wire(*address)) as wire:
        wire.send(request())
        wire.socket.shutdown(socket.SHUT_WR)
        assert wire.read_line() in (b"HTTP/1.1 200 OK\r\n", b"")
