"""From a recording to a rule of a script, as data and as the text that is appended to a script."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

from ..exchange import Request
from .meaning import request_digest, said
from .recording import Ending, Recording
from .redaction import Redactor

# How much of the last message a rule's name shows, in characters.
_SHOWN = 60

# Stands where `times: 1` will stand once a later rule answers the same request: as long as that,
# so that a rule that was written can be changed in its place.
NEWEST = "  # newest\n"
OVERTAKEN = "  times: 1\n"

Rule = dict[str, Any]


def rule_of(recording: Recording, redactor: Redactor, number: int) -> Rule:
    """Make the rule that answers a request like the recorded one with what was recorded.

    `recording` holds no secrets in its answer any more (see `without_secrets`); what the rule shows
    of the request is redacted here. `number` makes the name unique.
    """
    return {
        "name": f"#{number} {_title(recording, redactor)}",
        "match": {"recorded": request_digest(recording.request)},
        "reply": _reply(recording),
    }


def _reply(recording: Recording) -> dict[str, Any]:
    reply: dict[str, Any] = {}
    if recording.status is not None:
        reply["status"] = recording.status
        if recording.headers:
            reply["headers"] = dict(recording.headers)
    parts = [_part(piece.at, piece.data) for piece in recording.pieces]
    failure = _failure(recording)
    if failure is not None:
        # What never came. The failure ends before it; its time is that of the failure.
        parts.append({"at": _seconds(recording.ended_at), "text": " "})
        reply["failure"] = failure
    return {**reply, "parts": parts}


def _failure(recording: Recording) -> dict[str, Any] | None:
    """Name the failure of the catalogue that the upstream's behaviour was."""
    if recording.ending is Ending.WHOLE:
        return None
    how = "reset" if recording.ending is Ending.RESET else "close"
    if recording.status is not None:
        size = sum(len(piece.data) for piece in recording.pieces)
        return {"name": f"{how}_in_body", "after": size}
    if recording.head_bytes:
        return {"name": "reset_in_headers", "after": recording.head_bytes}
    return {"name": f"{how}_before_headers"}


def _part(at: float, data: bytes) -> dict[str, Any]:
    try:
        return {"at": _seconds(at), "text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"at": _seconds(at), "base64": base64.b64encode(data).decode()}


def _seconds(at: float) -> float:
    """Tenths of milliseconds: what is finer is noise."""
    return round(at, 4)


def _title(recording: Recording, redactor: Redactor) -> str:
    """Say in a line which request this was, for people."""
    request = recording.request
    query = f"?{redactor.query(request.query)}" if request.query else ""
    title = f"{request.method} {redactor.path(request.path)}{query}"
    title = title.encode("utf-8", "replace").decode()  # bytes that are not UTF-8
    hints = ", ".join(_hints(request, redactor))
    return f"{title}: {hints}" if hints else title


def _hints(request: Request, redactor: Redactor) -> Iterator[str]:
    body = said(request)
    if not isinstance(body, dict):
        return
    # Redacted before it is cut: half a secret looks like none.
    body = redactor.data(body)
    if isinstance(body.get("model"), str):
        yield _line(body["model"])
    if body.get("stream") is True:
        yield "stream"
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    content = last.get("content") if isinstance(last, dict) else body.get("prompt")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            content = part["text"]
    if isinstance(content, str) and content.strip():
        yield json.dumps(_line(content), ensure_ascii=False)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


# ---------------------------------------------------------------------- text


def written(rule: Rule) -> str:
    """Write a rule as an item of a YAML list, so that reading it gives the same data."""
    reply = rule["reply"]
    lines = [f"- name: {quoted(rule['name'])}\n", "  match:\n"]
    lines += [f"    {name}: {quoted(value)}\n" for name, value in rule["match"].items()]
    lines += [OVERTAKEN if rule.get("times") == 1 else NEWEST, "  reply:\n"]
    if "status" in reply:
        lines.append(f"    status: {reply['status']}\n")
    if "headers" in reply:
        lines.append("    headers:\n")
        lines += [f"      {quoted(n)}: {quoted(v)}\n" for n, v in reply["headers"].items()]
    if "failure" in reply:
        pairs = ", ".join(f"{name}: {value}" for name, value in reply["failure"].items())
        lines.append(f"    failure: {{{pairs}}}\n")
    lines.append("    parts:\n" if reply["parts"] else "    parts: []\n")
    for part in reply["parts"]:
        at = f"{part['at']:.4f}".rstrip("0").rstrip(".")
        # Base64 in quotes: some of it is a number or a truth value to YAML.
        value = _block(part["text"], 8) if "text" in part else f" {quoted(part['base64'])}\n"
        lines.append(f"    - at: {at}\n      {'text' if 'text' in part else 'base64'}:{value}")
    return "".join(lines)


# What YAML takes in a literal block as it is. Tabs, other line ends and spaces at an end or a
# beginning mean something there, or look as if they did not.
_PLAIN_LINES = re.compile(
    "(?:(?! )[^\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]+(?<! )(?:\n+|\\Z))+"
)


def _block(text: str, indent: int) -> str:
    """Write a text as a literal block, whose lines stand as they are, or as a quoted text."""
    if not _PLAIN_LINES.fullmatch(text):
        return f" {quoted(text)}\n"
    keep = "|+" if text.endswith("\n") else "|-"
    lines = text.removesuffix("\n").split("\n")
    margin = " " * indent
    return f" {keep}\n" + "".join(f"{margin}{line}\n" if line else "\n" for line in lines)


def quoted(text: str) -> str:
    """Write a text in double quotes, which YAML and JSON read the same."""
    return _NOT_PRINTABLE.sub(_escape, json.dumps(text, ensure_ascii=False))


# YAML 1.1, section 5.1: everything else stands for itself. The line ends of Unicode would be
# read as such.
_NOT_PRINTABLE = re.compile("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufeff\ufffe\uffff]")


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
