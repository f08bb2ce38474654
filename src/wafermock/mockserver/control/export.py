"""A call written down to be had again: as a command for a shell, and as a rule of a script."""

import json
import shlex
from typing import Any
from urllib.parse import quote

from .entry import Entry
from .masking import MASK, Mask
from .reading import Choice, asked, messages_of, text_of

# What curl sets by itself, or what belongs to one connection and not to the request.
_CURLS_OWN = frozenset({"host", "content-length", "connection", "transfer-encoding", "expect"})
_SDK = "x-stainless-"  # how the official SDKs describe themselves: of no use to a person

# What an answer has of its own each time, or gets again by itself.
_ANSWERS_OWN = frozenset(
    {"x-request-id", "inference-id", "content-length", "date", "server", "connection",
     "transfer-encoding", "preference-applied"}
)  # fmt: skip

KEY = "$CEREBRAS_API_KEY"

# Data nested deeper than this are written as text.
_DEEPEST = 50


def curl(entry: Entry, base: str) -> str:
    """Return the command that repeats a call at a server, `http://127.0.0.1:4010`.

    Masked headers are left out; an API key becomes a variable of the shell.
    """
    request = entry.request
    scope = f"/t/{quote(entry.scope, safe='')}" if entry.scope else ""
    query = f"?{entry.query}" if entry.query else ""
    words = ["curl", shlex.quote(f"{base}{scope}{entry.path}{query}")]
    if request.method != ("POST" if request.body else "GET"):
        words += ["-X", shlex.quote(request.method)]
    if entry.answer.streamed:
        words.append("-N")
    before = ""
    for name, value in entry.request_headers.items():
        if name in _CURLS_OWN or name.startswith(_SDK):
            continue
        if name == "authorization" and value == f"Bearer {MASK}":
            words += ["-H", f'"Authorization: Bearer {KEY}"']
        elif value != MASK:
            words += ["-H", shlex.quote(f"{name}: {value}")]
    if request.body:
        before, data = _data(entry.request_body)
        words += ["--data-binary", data]
    return before + _folded(words)


def _data(body: bytes) -> tuple[str, str]:
    """Return a body as a word of a shell; bytes that are no text come by a pipe before."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text:
        # A leading @ would name a file.
        return ("", shlex.quote(text)) if not text.startswith("@") else (_pipe(text), "@-")
    import base64

    return f"echo {base64.b64encode(body).decode()} | base64 -d | ", "@-"


def _pipe(text: str) -> str:
    return f"printf %s {shlex.quote(text)} | "


def _folded(words: list[str]) -> str:
    """One option a line."""
    lines = [" ".join(words[:2])]
    position = 2
    while position < len(words):
        takes_value = words[position] in ("-H", "-X", "--data-binary")
        lines.append(" ".join(words[position : position + 1 + takes_value]))
        position += 1 + takes_value
    return " \\\n  ".join(lines)


def rule(entry: Entry) -> str:
    """Return a script with one rule that answers such a call in the same way.

    What was said becomes words, so that the answer still obeys the request's parameters; what are
    no words (an error, a body that cannot be read) is kept as it went.
    """
    import yaml

    text: str = yaml.safe_dump(
        {"rules": [_rule(entry)]},
        sort_keys=False,
        allow_unicode=True,
        width=100,
        default_flow_style=False,
    )
    return f"# Made of call {entry.number}: {entry.request.method} {entry.path}\n{text}"


def _rule(entry: Entry) -> dict[str, Any]:
    match: dict[str, Any] = {}
    match["operation"] = _literal(entry.operation or entry.path)
    if entry.model:
        match["model"] = _literal(entry.model)
    if entry.scope:
        match["scope"] = _literal(entry.scope)
    match |= _last(entry.data, entry.mask)
    made = {"name": f"call {entry.number}", "match": match, "reply": _reply(entry)}
    return {key: value for key, value in made.items() if value}


def _last(data: Any, mask: Mask) -> dict[str, Any]:
    """Match what came last: the result of a tool, or what the user said."""
    messages = messages_of(data)
    if messages and messages[-1].get("role") == "tool":
        result = text_of(messages[-1].get("content"))
        return {"tool_result": mask.text(result)} if result else {}
    words = asked(data)
    return {"last": {"role": "user", "equals": mask.text(words)}} if words else {}


def _literal(name: str) -> str:
    """Write a name as a glob that stands for itself."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _reply(entry: Entry) -> dict[str, Any]:
    answer, said = entry.answer, entry.said
    reply: dict[str, Any] = {}
    if answer.status < 400 and len(said.choices) == 1 and said.error is None:
        reply = _words(said.choices[0], entry.mask)
    if not reply:
        reply = _bytes(entry)
    for name in ("delivery", "failure", "defect"):
        value = getattr(entry.why, name)
        if value is not None:
            reply[name] = value
    return reply


def _words(choice: Choice, mask: Mask) -> dict[str, Any]:
    reply: dict[str, Any] = {}
    if choice.content:
        reply["text"] = mask.text(choice.content)
    if choice.reasoning:
        reply["reasoning"] = mask.text(choice.reasoning)
    if choice.tool_calls:
        reply["tool_calls"] = [
            {"name": call["name"], "arguments": _arguments(mask.text(call["arguments"]))}
            for call in choice.tool_calls
            if call["name"]
        ]
    return reply


def _arguments(text: str) -> Any:
    """Return arguments as data where that gives the same text again."""
    data = _json(text)
    return data if isinstance(data, dict) else text


def _json(text: str) -> Any:
    """Return the data of a JSON text where that gives the same text again.

    None: it does not, or is nested so deep that YAML of it could be neither written nor read.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if _is_deep(data):
        return None
    compact = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return data if compact == text else None


def _is_deep(data: Any) -> bool:
    level = [data]
    for _ in range(_DEEPEST):
        inner = (v for v in level if isinstance(v, dict | list))
        level = [item for v in inner for item in (v.values() if isinstance(v, dict) else v)]
    return bool(level)


def _bytes(entry: Entry) -> dict[str, Any]:
    answer = entry.answer
    headers = {
        name: value
        for name, value in entry.answer_headers.items()
        if name not in _ANSWERS_OWN and not name.startswith("x-ratelimit-") and value != MASK
    }
    reply: dict[str, Any] = {"status": answer.status, "headers": headers}
    if answer.streamed:
        parts = [entry.mask.bytes(part) for part in answer.parts]
        offsets = answer.offsets or (0.0,) * len(parts)
        reply["parts"] = [_part(part, at) for part, at in zip(parts, offsets, strict=False)]
        return reply
    part = _part(entry.mask.bytes(answer.body), 0.0)
    if "text" not in part:
        return {**reply, "parts": [part]}
    data = _json(part["text"])
    # A text would be sent as it is, without its quotes.
    reply["body"] = part["text"] if data is None or isinstance(data, str) else data
    return reply


def _part(raw: bytes, at: float) -> dict[str, Any]:
    import base64

    when = {"at": at} if at else {}
    try:
        return {"text": raw.decode(), **when}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode(), **when}
