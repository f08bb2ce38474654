"""From the bytes of a request body to JSON data: inflate, then JSON or MessagePack."""

import json
import re
import zlib
from collections.abc import Collection
from typing import Any

from wafermock.spec.media_type import essence, is_utf8

from .draws import digest
from .refusal import Refusal

# Deeper data than this is refused; the limit of Python's own stack differs between versions.
MAX_DEPTH = 128
# A bound on what looking for the next member may cost. Tools that write members (bgzip) put
# 64 KiB into each.
MAX_GZIP_MEMBERS = 1024

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def decode(
    raw: bytes,
    content_type: str | None,
    content_encoding: str | None,
    *,
    media_types: Collection[str],
    max_body: int,
) -> Any:
    """Return the JSON data of a request body.

    `media_types` are those the operation takes, ranges (`text/*`) included; JSON is assumed where
    the request names none. A body that is neither JSON nor MessagePack (see `holds_data`) comes
    back as its text. `max_body` (bytes) bounds the body as sent and as inflated.
    Raises Refusal with an error of the catalogue.
    """
    if len(raw) > max_body:
        raise Refusal("body_too_large", limit=max_body)
    media_type = _media_type(content_type, media_types)
    body = _inflate(raw, content_encoding, max_body)
    if not body:
        raise Refusal("empty_body")
    if not holds_data(media_type):
        return body.decode("utf-8", "backslashreplace")
    is_msgpack = _is_msgpack(media_type)
    value = _from_msgpack(body) if is_msgpack else _from_json(body)
    if _deeper_than(value, MAX_DEPTH, body):
        raise _too_deep("malformed_msgpack" if is_msgpack else "malformed_json")
    return value


def holds_data(content_type: str | None) -> bool:
    """Say whether a body of this type is JSON data, which a schema can judge.

    Forms, files, XML and plain text are not: nothing is said of what they hold.
    """
    name = essence(content_type)
    return not name or name.endswith("json") or _is_msgpack(name)


def _is_msgpack(name: str) -> bool:
    return name.endswith("msgpack")


def _media_type(content_type: str | None, media_types: Collection[str]) -> str:
    name = essence(content_type)
    if not name:
        return next((m for m in media_types if m.endswith("json")), "application/json")
    taken = {name, name.partition("/")[0] + "/*", "*/*"} & set(media_types)
    if not taken or (holds_data(name) and not is_utf8(content_type)):
        raise Refusal(
            "unsupported_media_type",
            headers={"Accept-Post": ", ".join(media_types)},
            media_type=content_type,
            supported=", ".join(media_types),
        )
    return name


def _inflate(raw: bytes, content_encoding: str | None, max_body: int) -> bytes:
    encoding = (content_encoding or "identity").strip().lower()
    if encoding in ("identity", ""):
        return raw
    if encoding not in ("gzip", "x-gzip"):
        raise Refusal(
            "unsupported_content_encoding",
            headers={"Accept-Encoding": "gzip"},  # RFC 9110, section 12.5.3
            encoding=content_encoding,
        )
    parts: list[bytes] = []
    size = 0
    for _ in range(MAX_GZIP_MEMBERS):  # a body may have several (RFC 1952, section 2.2)
        member = zlib.decompressobj(wbits=31)
        try:
            part = member.decompress(raw, max_body + 1 - size)
        except zlib.error:
            raise Refusal("malformed_gzip", reason="the data is not what gzip writes") from None
        size += len(part)
        if size > max_body:
            raise Refusal("body_too_large", limit=max_body)
        if not member.eof:
            raise Refusal("malformed_gzip", reason="the data ends early")
        parts.append(part)
        raw = member.unused_data
        if not raw:
            return b"".join(parts)
    raise Refusal("malformed_gzip", reason=f"more than {MAX_GZIP_MEMBERS} members")


def _from_json(body: bytes) -> Any:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _malformed_json(f"not UTF-8 at byte {error.start}", error.start) from None
    if text.startswith("\ufeff"):  # RFC 8259, section 8.1
        raise _malformed_json("a byte order mark stands before it", 0)
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
        if _SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except json.JSONDecodeError as error:
        fault = _as_all_versions_say(error)
        reason = f"{fault.msg}: line {fault.lineno} column {fault.colno} (char {fault.pos})"
        raise _malformed_json(reason, fault.pos) from None
    except UnicodeEncodeError:
        raise _malformed_json("a lone surrogate is no character", 0) from None
    except RecursionError:
        raise _too_deep("malformed_json") from None
    except _NoJson as error:
        raise _malformed_json(str(error), 0) from None
    except ValueError:  # the only other one: Python bounds the digits it reads
        raise _malformed_json("an integer has too many digits", 0) from None
    return value


def _malformed_json(reason: str, at: int) -> Refusal:
    return Refusal("malformed_json", reason=reason, loc=["body", at])


def _too_deep(error: str) -> Refusal:
    reason = f"nested deeper than {MAX_DEPTH} levels"
    return Refusal(error, reason=reason, loc=["body", 0])


def _as_all_versions_say(error: json.JSONDecodeError) -> json.JSONDecodeError:
    """Undo the one sentence that Python 3.13 changed, so that every version answers the same."""
    if not error.msg.startswith("Illegal trailing comma"):
        return error
    behind = re.compile(r"[ \t\n\r]*").match(error.doc, error.pos + 1)
    at = behind.end() if behind else error.pos
    in_object = error.msg.endswith("object")
    wanted = "property name enclosed in double quotes" if in_object else "value"
    return json.JSONDecodeError(f"Expecting {wanted}", error.doc, at)


class _NoJson(Exception):
    """Something that a parser reads and JSON does not have."""


def _no_constant(name: str) -> None:
    raise _NoJson(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _NoJson(f"the number {text[:32]} is out of range")
    return number


def _from_msgpack(body: bytes) -> Any:
    import ormsgpack

    # The reader is silent about bytes behind the value. So it is given a list of the value and a
    # mark, which comes second only when the value ends where the body does.
    mark = digest(body)
    marked = b"\x92" + body + b"\xc4\x10" + mark
    try:
        value, behind = ormsgpack.unpackb(marked, ext_hook=lambda *_: _EXTENSION)
    except ormsgpack.MsgpackDecodeError as error:
        if "ecursion" in str(error):
            raise _too_deep("malformed_msgpack") from None
        raise _malformed_msgpack(str(error)) from None
    try:  # what JSON cannot carry has no meaning here
        json.dumps(value, allow_nan=False, default=_no_json)
    except RecursionError:
        raise _too_deep("malformed_msgpack") from None
    except _NoJson as error:
        raise _malformed_msgpack(str(error)) from None
    except ValueError:
        raise _malformed_msgpack("NaN and Infinity have no place in JSON") from None
    if behind != mark:
        raise _malformed_msgpack("there is something behind the value")
    return value


def _malformed_msgpack(reason: str) -> Refusal:
    return Refusal("malformed_msgpack", reason=reason, loc=["body", 0])


_EXTENSION = object()


def _no_json(value: object) -> None:
    kind = "binary data" if isinstance(value, bytes) else "an extension type"
    raise _NoJson(f"{kind} has no place in JSON")


def _deeper_than(value: Any, limit: int, body: bytes) -> bool:
    if body.count(b"[") + body.count(b"{") <= limit and body[:1] in (b"{", b"["):
        return False  # JSON cannot nest deeper than it opens brackets
    level = [value]
    for _ in range(limit):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(v for v in item.values() if isinstance(v, dict | list))
            elif isinstance(item, list):
                inner.extend(v for v in item if isinstance(v, dict | list))
        if not inner:
            return False
        level = inner
    return True
