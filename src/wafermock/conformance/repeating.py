"""Texts by which people repeat a request: for `curl` in a POSIX shell, and in Python.

Both send the bytes that the judge sent. The key stands in neither: they take it from the
environment variable WAFERMOCK_API_KEY.
"""

import base64
import re
import shlex
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from wafermock.reports.run import Traffic

from .client import USER_AGENT
from .http1_request import full_target, header_bytes
from .secrets import MASK, SECRET_HEADERS

KEY = "WAFERMOCK_API_KEY"
# A body that is longer goes through a pipe: an argument of a command has a bound (Linux: 128 KiB).
LONGEST_ARGUMENT = 32 * 1024
# A line of Base64 in a Python text.
_WIDTH = 76

# What curl sends on its own unless it is told not to.
_OF_CURL = ("Accept", "Content-Type", "Expect")


def curl(
    traffic: Sequence[Traffic], url: str, *, insecure: bool = False, ca_file: str | None = None
) -> str:
    """Return a command for each request, in their order; `url` is the base URL of the endpoint."""
    trust = ["--insecure"] if insecure else []
    if ca_file:
        trust.append(f"--cacert {shlex.quote(ca_file)}")
    return "\n\n".join(_command(one, url, trust) for one in traffic)


def _command(traffic: Traffic, url: str, trust: Sequence[str]) -> str:
    parts = ["curl -sS -i -N -g --http1.1 --path-as-is --max-time 300", *trust]
    parts.append("--head" if traffic.method == "HEAD" else f"-X {shlex.quote(traffic.method)}")
    if traffic.target == "*":
        parts.append("--request-target '*'")
    parts += [f"-H {_header(name, value)}" for name, value in _headers(traffic)]
    given = {name.lower() for name, _ in traffic.request_headers}
    parts += [f"-H '{name}:'" for name in _OF_CURL if name.lower() not in given]
    body, before = traffic.request_body, ""
    if body or traffic.method in ("POST", "PUT", "PATCH"):
        if _is_argument(body):
            parts.append(f"--data-raw {shlex.quote(body.decode())}")
        else:
            said = base64.b64encode(body).decode()
            before = f"printf %s {said} | base64 -d | "
            parts.append("--data-binary @-")
    parts.append(shlex.quote(_url(traffic, url)))
    return before + " \\\n  ".join(parts)


def _headers(traffic: Traffic) -> Iterator[tuple[str, str]]:
    if "user-agent" not in {name.lower() for name, _ in traffic.request_headers}:
        yield "User-Agent", USER_AGENT
    yield from traffic.request_headers


def _url(traffic: Traffic, url: str) -> str:
    if traffic.target == "*":
        return url
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{full_target(traffic.target, parts.path)}"


def _is_argument(body: bytes) -> bool:
    """Whether a body can be written in a command as it is, and be read there."""
    if len(body) > LONGEST_ARGUMENT:
        return False
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return all(sign.isprintable() or sign in "\n\t" for sign in text)


def _header(name: str, value: str) -> str:
    """Quote a header for the shell, with the key's variable where the key was."""
    line = header_bytes(name) + (b": " + header_bytes(value) if value else b";")
    if name.lower() not in SECRET_HEADERS or MASK not in value:
        return _quoted(line)
    before, _, behind = line.partition(MASK.encode())
    return _quoted(before) + f'"${KEY}"' + (_quoted(behind) if behind else "")


def _quoted(data: bytes) -> str:
    """Quote bytes for a POSIX shell (without NUL, which no argument can hold)."""
    if all(0x20 <= byte < 0x7F for byte in data):
        return shlex.quote(data.decode("ascii"))
    octal = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b"%\\'" else f"\\{byte:03o}"
        for byte in data
    )
    return f"\"$(printf '{octal}')\""


# ------------------------------------------------------------------------------- Python


def python(
    traffic: Sequence[Traffic], url: str, *, insecure: bool = False, ca_file: str | None = None
) -> str:
    """Return a script that needs nothing but Python; it prints what comes, as it comes."""
    parts = urlsplit(url)
    lines = ["import http.client", "import os"]
    if parts.scheme == "https":
        lines.append("import ssl")
    if any(_wants_base64(one.request_body) for one in traffic):
        lines.insert(0, "import base64")
    if any(
        MASK in value and name.lower() in SECRET_HEADERS
        for one in traffic
        for name, value in one.request_headers
    ):
        lines += ["", f'KEY = os.environ["{KEY}"].encode()']
    else:
        lines.remove("import os")
    for one in traffic:
        lines += ["", *_request(one, url, insecure, ca_file)]
    return "\n".join(lines) + "\n"


def _request(traffic: Traffic, url: str, insecure: bool, ca_file: str | None) -> Iterator[str]:
    parts = urlsplit(url)
    port = f", {parts.port}" if parts.port else ""
    host = f'"{parts.hostname}"'
    if parts.scheme == "https":
        trust = f"cafile={ca_file!r}" if ca_file else ""
        made = "ssl._create_unverified_context()" if insecure else (
            f"ssl.create_default_context({trust})")  # fmt: skip
        yield f"connection = http.client.HTTPSConnection({host}{port}, timeout=300, context={made})"
    else:
        yield f"connection = http.client.HTTPConnection({host}{port}, timeout=300)"
    target = full_target(traffic.target, parts.path)
    given = {name.lower() for name, _ in traffic.request_headers}
    skipped = ", skip_host=True" if "host" in given else ""
    yield (f"connection.putrequest({traffic.method!r}, {target!r}, "
           f"skip_accept_encoding=True{skipped})")  # fmt: skip
    for name, value in _headers(traffic):
        yield f"connection.putheader({_text(name)}, {_value(name, value)})"
    yield from _sending(traffic, given)
    yield "answer = connection.getresponse()"
    yield "print(answer.status, answer.reason)"
    yield "print(answer.headers)"
    yield "while piece := answer.read1(65536):"
    yield "    print(piece)"
    yield "connection.close()"


def _sending(traffic: Traffic, given: set[str]) -> Iterator[str]:
    body = traffic.request_body
    is_chunked = "transfer-encoding" in given
    framed = is_chunked or "content-length" in given
    if not framed and (body or traffic.method in ("POST", "PUT", "PATCH")):
        yield f'connection.putheader("Content-Length", {str(len(body))!r})'
    yield "connection.endheaders()"
    if body:
        yield from _literal(body)
    if body and is_chunked:
        yield 'connection.send(b"%x\\r\\n%b\\r\\n" % (len(body), body))'
    elif body:
        yield "connection.send(body)"
    if is_chunked:
        yield 'connection.send(b"0\\r\\n\\r\\n")'


def _value(name: str, value: str) -> str:
    if name.lower() not in SECRET_HEADERS or MASK not in value:
        return _text(value)
    before, _, behind = header_bytes(value).partition(MASK.encode())
    return " + ".join([repr(before), "KEY", *([repr(behind)] if behind else [])])


def _text(text: str) -> str:
    """Write a part of a header: as bytes where Python would not have it as a text."""
    return repr(text if text.isascii() else header_bytes(text))


def _wants_base64(body: bytes) -> bool:
    return bool(body) and not _is_argument(body)


def _literal(body: bytes) -> Iterator[str]:
    if not _wants_base64(body):
        text = body.decode()
        if text.isascii():
            yield f"body = {body!r}"
        else:
            yield f"body = {text!r}.encode()"
        return
    said = base64.b64encode(body).decode()
    yield "body = base64.b64decode("
    for line in re.findall(f".{{1,{_WIDTH}}}", said):
        yield f'    "{line}"'
    yield ")"
