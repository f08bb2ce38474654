"""Asking a script without a server: scripts from text, subjects from JSON."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from wafermock.mockserver.call import Call
from wafermock.mockserver.exchange import Request
from wafermock.mockserver.refusal import Refusal
from wafermock.mockserver.script import Found, Missed, Script, ScriptState, Subject
from wafermock.spec import Contract, load_contract

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"


@cache
def contract() -> Contract:
    return load_contract()


def script(tmp_path: Path, text: str, name: str = "script.yaml") -> Script:
    """Write a script to a file and load it."""
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return Script.load([file], contract())


def state(tmp_path: Path, text: str) -> ScriptState:
    return ScriptState(script(tmp_path, text))


def subject(body: Any, path: str = CHAT, scope: str = "", **headers: str) -> Subject:
    """Make the subject of a request; header names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"content-type": "application/json", "authorization": "Bearer key", **named}
    method = "GET" if path == "/v1/models" else "POST"
    route = contract().route(method, path)
    assert route is not None
    call = Call(
        route.operation,
        body if isinstance(body, dict) else {"": body},
        route.path_values,
        0,
        contract().fingerprint,
    )
    return Subject(Request(method, path, "", sent, json.dumps(body).encode()), call, scope)


def user(text: Any, **more: Any) -> dict[str, Any]:
    """Make the body of a chat request in which the user says something."""
    return {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": text}], **more}


def called(name: str, id: str = "1", arguments: str = "{}") -> dict[str, Any]:
    """Make the message of an assistant that calls a function."""
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "tool_calls": [{"id": id, "type": "function", "function": function}],
    }


def result(text: str, id: str = "1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text}


def found(answer: Found | Missed) -> Found:
    assert isinstance(answer, Found), str(answer)
    return answer


def said(answer: Found | Missed) -> str:
    """Return the words that were found."""
    reply = found(answer).outcome.reply
    assert reply is not None, answer
    return reply.content


def missed(answer: Found | Missed) -> Missed:
    assert isinstance(answer, Missed), answer
    return answer


def error_of(refusal: Refusal) -> tuple[int, Any]:
    """Return the status and the body of a refusal, which names an error of the catalogue."""
    assert isinstance(refusal.error, str)
    entry = contract().errors[refusal.error]
    return entry.status, entry.answer(refusal.faults, **refusal.values)
